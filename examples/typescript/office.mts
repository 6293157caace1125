// A client of doze in plain TypeScript, and an agent's day with it:  node office.mts FOLDER
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { resolve } from "node:path";

type Answer = { result?: any; error?: { message: string } };

export class Doze {
  private last = 0;
  private socket: Socket;
  private answers: AsyncIterator<string>;

  constructor() {
    const { DOZE_SOCKET, DOZE_HOME, XDG_RUNTIME_DIR, XDG_STATE_HOME, HOME } = process.env;
    const runtime = XDG_RUNTIME_DIR || `/run/user/${process.getuid!()}`;
    const homes = DOZE_HOME ? [`${DOZE_HOME}/run`] : [`${runtime}/doze`, `${XDG_STATE_HOME || `${HOME}/.local/state`}/doze/run`];
    const places = DOZE_SOCKET ? [DOZE_SOCKET] : homes.map((home) => `${home}/dozed.sock`);
    this.socket = connect(places.find((place) => existsSync(place)) ?? places[0]);
    this.answers = createInterface({ input: this.socket })[Symbol.asyncIterator]();
  }

  /** One call at a time: answers come in the order of the requests. */
  async call(method: string, params: object): Promise<any> {
    this.socket.write(JSON.stringify({ jsonrpc: "2.0", id: ++this.last, method, params }) + "\n");
    const { value, done } = await this.answers.next();
    const answer: Answer = done ? { error: { message: "dozed closed the connection" } } : JSON.parse(value);
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }

  close(): void {
    this.socket.end();
  }
}

const doze = new Doze();
const me = { agent: "ts-1", cwd: resolve(process.argv[2] ?? ".") };
await doze.call("hello", { protocol: 1, client: "office.mts/1" });
await doze.call("work.set", { ...me, session: "ts", task_prompt: "Build the menu", next_steps: ["test the menu"] });
console.log((await doze.call("recall.recover", me)).text + "\n");
const output = "Important: the menu opens to the left on small screens.\nSUMMARY: built the menu";
await doze.call("session.commit", { ...me, session: "ts", output, changed_files: ["src/menu.ts"] });
console.log((await doze.call("recall.context", me)).text + "\n");
console.log((await doze.call("recall.roster", { cwd: me.cwd, agents: ["ts-1"] })).text);
doze.close();
