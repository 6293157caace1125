//! Talk about a memory: what doze or its brief said, quoted to be rejected, forgotten or discussed. The statement in
//! it is known already, and who reports it does not make it (`MODEL` ruling 17).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::{normalise_words, regex, sentences};

/// What is reported on: something doze keeps or shows.
const MEMORY: &str = r"(?:memory|memories|brief|briefing|fact|note|entry|record)";

/// The sentence begins by telling what a memory or doze said.
static REPORTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        concat!(
            r"(?i)^{lead}(?:(?:it|doze|(?:the|this|that|your|my|our|a|one)\s+(?:\w+\s+){{0,2}}{memory})\s+",
            r"(?:(?:still|also|always|now|just|wrongly|already|here)\s+)*(?:said|says?|tells?|told|claims?|claimed|writes|wrote|states?|stated|reads?|mentions?|mentioned|contains?|shows?|suggests?)\b",
            r"|according\s+to\s+(?:the|your|this|that|my)\s+(?:\w+\s+){{0,2}}{memory}",
            r"|(?:(?:i|we)\s+)?(?:read|saw|see|found|there\s+is|there['’]s)\b[^.:]{{0,30}}\b(?:in|from)\s+(?:the|your|this|my)\s+(?:\w+\s+)?{memory}\b",
            r"|(?:in|from)\s+(?:the|your|this|my)\s+(?:\w+\s+)?(?:memory|memories|brief|briefing)\b\s*(?:[,:]|it\b|i\b|you\b|there\b)",
            r"|(?:about|regarding|re|concerning)\s*:?\s+(?:the|your|this|that)\s+(?:\w+\s+)?{memory}\b",
            r"|(?:the|this|that|your)\s+(?:\w+\s+){{0,2}}{memory}\s*[:\x22“„«'`(]",
            // German
            r"|(?:in|im|laut)\s+(?:der|dem|deiner|deinem)?\s*(?:briefing|erinnerung|notiz)\b|(?:da|dort|hier|im\s+briefing)\s+steht\b",
            r"|(?:das|dein|die|deine|diese)\s+(?:\w+\s+)?(?:briefing|erinnerung|notiz)\s+(?:sagt|besagt|behauptet|lautet|meint)\b)",
            r"|^(?:(?:在|根据|按照|依据)?(?:这|那|该|你的)?(?:条|个|则|份)?(?:记忆|简报|备忘)(?:里|中|上|内)?(?:说|写|提到|显示|记着|记录|：|:|“|「))",
            r"|^(?:この|その)?(?:メモリ|記憶|ブリーフ)(?:に(?:は|よると|よれば)|では)|^(?:이|그)?\s*(?:기억|메모리|브리핑)(?:에는|에\s*따르면|에서는)",
        ),
        lead = LEAD,
        memory = MEMORY
    ))
});

/// The person tells what the other side said; for an agent, "you" is the person, who may teach.
static YOU_SAID: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        r"(?i)^{LEAD}(?:you(?:['’]ve|\s+have|\s+had)?\s+(?:just\s+|once\s+|also\s+|wrongly\s+|previously\s+|earlier\s+)*(?:said|told|claimed|wrote|mentioned|noted|recorded|stored|saved|learned|learnt|remembered|reported)\b|du\s+(?:hast|hattest)\s+(?:mir\s+)?(?:vorhin\s+|gerade\s+)?(?:gesagt|geschrieben|behauptet|gemerkt|notiert)|du\s+sagtest\b|(?:你|您)(?:刚才|之前|刚刚|以前|曾经|曾)?(?:说过?|告诉过?我|记住了|写过?)|(?:あなた|君)は.*と(?:言|い)|(?:당신|네가|너는).*(?:말했|했잖))"
    ))
});

/// A memory is turned down, or its removal asked for.
static REJECTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        concat!(
            r"(?i)^{lead}(?:(?:the|this|that|your|a|one)\s+(?:\w+\s+){{0,2}}{memory}\s+(?:[^.]{{0,200}}\s)?(?:is|was|seems|looks)\s+(?:\w+\s+){{0,2}}{wrong}",
            r"|(?:forget|delete|remove|drop|retract|erase|discard|ignore|disregard|reject|correct|undo|unlearn|do\s+not\s+trust|don['’]t\s+trust)\s+(?:about\s+)?(?:(?:the|this|that|your|my|any|all)\s+)?(?:\w+\s+){{0,2}}{memory}\s*(?:$|[.,;:!\x22“„«'`(]|that\b|about\b|saying\b|which\b|from\b|with\b)",
            r"|(?:vergiss|lösche|entferne|streiche|ignoriere|verwirf)\s+(?:bitte\s+)?(?:die|diese|deine|das|den)?\s*(?:\w+\s+)?(?:erinnerung|notiz|merksatz|eintrag)",
            r"|(?:die|diese|deine)\s+(?:\w+\s+)?(?:erinnerung|notiz)\s+(?:[^.]{{0,200}}\s)?(?:ist|war)\s+(?:\w+\s+){{0,2}}(?:falsch|veraltet|überholt|unwahr))",
            r"|[\x22”»“]\s*(?:is|was)\s+(?:\w+\s+){{0,2}}{wrong}|[\x22”“«»]\s*(?:ist|war)\s+(?:\w+\s+){{0,2}}(?:falsch|veraltet|überholt)",
            r"|^(?:请|麻烦)?(?:忘记|忘掉|忘了|删除|删掉|移除|撤回|忽略)(?:这|那|该)?(?:条|个|则)?.{{0,6}}(?:记忆|备忘)|^(?:这|那|该)(?:条|个|则)?(?:记忆|备忘).{{0,4}}(?:错|不对|过时|不正确|有误)",
            r"|(?:記憶|メモリ|メモ)(?:を|は|が).{{0,4}}(?:忘れ|削除|消し|間違|誤|古い)|(?:기억|메모리)(?:은|는|이|가|을|를).{{0,6}}(?:틀렸|틀린|잘못|삭제|지워|잊)",
        ),
        lead = LEAD,
        memory = MEMORY,
        wrong = r"(?:wrong|incorrect|outdated|out\s+of\s+date|stale|obsolete|false|untrue|mistaken|bogus|invalid|nonsense|not\s+(?:true|right|correct|valid)|no\s+longer)\b",
    ))
});

/// A line of a log or of a listing of memories.
static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^\W{0,3}\[?\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d\S*)?\]?\s+|^[^.]{0,60}\[(?:memory|fact|brief|preference|decision|lesson|convention|command|env_quirk|ownership)\b[^\]]{0,40}\]",
    )
});

/// Words that open a sentence and say nothing.
const LEAD: &str = r"\W*(?:(?:and|but|so|also|hm+|ok(?:ay)?|well|wait|hey|hi|no|yes|please|pls|can\s+you|could\s+you|just|now|then|actually|look|see|i\s+think|bitte|aber|und|nein)\b[\s,:;.–—-]*)*";

/// Whether a sentence talks about a memory instead of stating something. `by_agent` tells who speaks.
pub(crate) fn is_report(sentence: &str, by_agent: bool) -> bool {
    REPORTS.is_match(sentence)
        || REJECTS.is_match(sentence)
        || LISTED.is_match(sentence)
        || (!by_agent && YOU_SAID.is_match(sentence))
}

/// The person asks, wonders, doubts or takes back: no statement, with or without a question mark.
static DOUBTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^\W*(?:(?:so|and|but|hm+|ok(?:ay)?|well|also)\W+)*(?:i\s+(?:wonder|guess|doubt|thought|believed|assumed?|suppose)\b|i(?:['’]m|\s+am)\s+not\s+(?:sure|certain)\b|i\s+(?:do\s*n['’]?o?t|do\s+not)\s+(?:know|think|remember|believe)\b|i\s+think\s+you\s+(?:still\s+)?remember\b",
        r"|(?:maybe|perhaps|possibly|probably)\b|forget\s+(?:that|about|what|it)\b|i\s+(?:was|were|have\s+been)\s+(?:thinking|wondering|considering)\b|(?:do|does|did)\s+(?:we|i|you|they|it|our|my)\b|(?:is|are|was|were|should|shall)\s+(?:we|i|you|they|it|this|that|the|there|our|my)\b|(?:have|has|had)\s+(?:we|i|you|they|it)\b|(?:can|could|would|will)\s+(?:we|i|they|it|this|that|the|our)\b)"
    ))
});

/// What comes after it is said for itself: `I thought about it: always …`, `I don't know why, but never …`.
static GOES_ON: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)[:;–—]\s+\S|,\s+(?:so|but|and|always|never|please|the|we|our)\s"));

/// What takes back the words before it.
static TAKES_BACK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:no\s+wait|scratch\s+that)\b|\bnever\s*mind\W*$|\b(?:i\s+(?:was|am)\s+wrong|that(?:['’]s|\s+is|\s+was)\s+(?:wrong|not\s+true|not\s+right|no\s+longer\s+true))\W*$",
    )
});

/// Somebody else says or wants it, who does not decide here. A specification does.
static HEARSAY: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^\W*(?:(?:so|and|but|also|apparently|well)\W+)*(?:the|a|an|our|your|their|some|one)?\s*(?:[\w-]+\s+){0,2}?",
        r"(?:docs?|documentation|readme|manual|changelog|article|blog|post|tutorial|forum|vendor|customers?|clients?|reviewers?|tickets?|marketing|sales|support|stack\s*overflow|chatgpt|somebody|someone|people)",
        r"(?:\s+(?:team|folks|page|guide)|\s+(?:of|in|for|from)\s+[^.,;:]{1,40}?)?\s+(?:also\s+|still\s+|just\s+)?(?:claim(?:s|ed)?|says?|said|ask(?:s|ed)?|wants?|wanted|suggest(?:s|ed)?|recommend(?:s|ed)?|thinks?|thought|promis(?:es|ed)|request(?:s|ed)?|complain(?:s|ed)?)\b|",
        r"^\W*(?:i\s+(?:hate|dislike|love)\s+(?:it\s+)?when\s|(?:at|in)\s+my\s+(?:last|old|former|previous)\s+(?:job|company|team|project)\b)|",
        r"(?:同事|客户|客戶|老板|文档|文件|别人)(?:们)?(?:说|說|要求|认为)|と言っていました|라고\s*(?:했|말했|합니다)"
    ))
});

/// What somebody else said is quoted: what follows the colon is theirs.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^\W*(?:(?:so|and|but|also)\W+)*(?:[\w'’.-]+\s+){1,5}?(?:say(?:s|ing)?|said|claim(?:s|ed)?|tells?|told(?:\s+(?:us|me))?|writes?|wrote|answer(?:s|ed)|",
        r"repl(?:ies|ied)|prints?|printed|reads?|suggests?|recommends?)(?:\s+(?:on|in|at|via)\s+[\w#'’.-]+){0,2}\s*:\s*[\x22“„«]?\S"
    ))
});

/// It holds no more, only now, or nowhere but in the speaker's mind.
static NOT_MEANT: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)^\W*(?:(?:and|but|so|ok(?:ay)?)\W+)*(?:(?:the|our)\s+(?:old|former|previous)\s+(?:rule|convention|policy|team|way|practice)\b|an?\s+example\s+of\b|we\s+used\s+to\s+\w+|for\s+(?:example|instance)\b|",
        r"(?:imagine|pretend|suppose|assume)\b|if\s+(?:we|i|you|the\s+\w+)\s+(?:were|had\s+been)\b|i(?:['’]m|\s+am)\s+thinking\s+(?:about|of)\b|tell\s+me\s+(?:whether|if)\b|just\s+(?:this|for)\s+(?:once|now|today)\b|(?:just\s+)?(?:this\s+once|for\s+(?:today|now))\b|in\s+this\s+(?:task|session|chat|prompt)\b|",
        r"(?:please\s+)?(?:write|add|create|draft|put)\s[^:]{0,80}?(?:\b(?:asserts?|says?|output\s+is)\b|\b(?:readme|prompt|comment|contributing|claude|agents|sentence|line|this)\b[^:]{0,30}:\s*\S)|",
        r"(?:please\s+)?(?:translate|fix|correct|rephrase|explain|summari[sz]e)\s[^.:]{0,60}\b(?:sentence|grammar|this|to\s+\w+)\b[^.:]{0,20}:\s*\S|",
        r"(?:please\s+)?(?:draft|compose|translate|summari[sz]e|rephrase|proofread|shorten|polish)\b[^:]{0,80}:\s*\S|",
        r"(?:please\s+)?(?:write|send|post|reply|add|put)\s[^:]{0,60}\b(?:e?-?mail|message|post|blog|tweet|faq|letter|slide|announcement|linter|docs?)\b[^:]{0,30}:\s*\S|",
        r"(?:please\s+)?(?:make|let|have)\s[^.:]{1,60}\s(?:say|read|show|print|display)\s)|",
        r"\balmost\s+(?:decided|chose|picked|went|used)\b|\b(?:was|were|got)\s+(?:rejected|voted\s+down|turned\s+down)\b|",
        r"翻译成|翻譯成|英訳|和訳して|訳して|번역해|",
        r"\b(?:just\s+kidding|(?:only|just)\s+joking|until\s+tomorrow)\b"
    ))
});

/// Whether a person asks, doubts or reports something rather than telling it.
pub(crate) fn is_doubt(sentence: &str) -> bool {
    (DOUBTS.is_match(sentence) || HEARSAY.is_match(sentence)) && !GOES_ON.is_match(sentence)
        || is_quoted(sentence)
        || NOT_MEANT.is_match(sentence)
        || TAKES_BACK.is_match(sentence)
}

/// What somebody else said stands behind a colon; what one said oneself is one's own.
fn is_quoted(sentence: &str) -> bool {
    static OWN: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)^[^:]*\b(?:i|my|our)\b[^:]*:"));
    QUOTED.is_match(sentence) && !OWN.is_match(sentence)
}

/// Whether a sentence gives what somebody or something else says.
pub(crate) fn is_hearsay(sentence: &str) -> bool {
    HEARSAY.is_match(sentence) && !GOES_ON.is_match(sentence) || is_quoted(sentence)
}

/// Whether a sentence asks for an opinion of the one before, which is not the speaker's own then.
pub(crate) fn asks_about_it(sentence: &str) -> bool {
    static ASKS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^\W*(?:(?:is|was)\s+(?:that|this|it)\s+(?:a\s+|an\s+|still\s+|really\s+|also\s+|the\s+)*(?:good|bad|right|true|wrong|correct|wise|sensible|idea|case|necessary|needed|ok\s+with)\b[^.]{0,40}\?|what\s+do\s+you\s+think\b|do\s+you\s+agree\b|(?:that|this)\s+is\s+(?:nonsense|wrong)\b|(?:that|this)(?:['’]s|\s+is|\s+was)\s+(?:only\s+|just\s+)?(?:what\s+\w+\s+(?:thinks?|says?|said|claims?|wants?)|a\s+joke)\b|not\s+sure(?:\s+(?:yet|about\s+(?:that|this|it)))?\W*$|we\s+do(?:n['’]t|\s+not)\W*$|which\s+(?:one\s+)?is\s+wrong\b|how\s+do\s+i\s+silence\b)",
        )
    });
    ASKS.is_match(sentence)
}

/// The words with which a person takes back what they said just before, and those besides: a sentence that goes on about
/// something of its own means that.
pub(crate) fn takes_back_what_was_said(sentence: &str) -> Option<TakenBack> {
    static BACK: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(?i)^\W*(?:(?:no|nah|nope|oh|ah|oops|ups|argh|ok(?:ay)?|sorry|wait|hold\s+on|actually|hm+|but|please)\W+)*(?:never\s*mind|no\s+wait\b|scratch\s+that\b|(?:scrap|undo|ignore|forget|disregard)\s+(?:(?:that|this|it)(?:\s+(?:please|again|rule|one|message))?|what\s+i\s+(?:just\s+)?said(?:\s+(?:before|earlier|above|just\s+now))?|(?:the|my)\s+last\s+(?:rule|one|message|prompt|thing|sentence))\s*(?:[.,!;:–—-]|$)|",
            r"wrong\s+(?:project|window|chat|terminal|repo|tab|session|thread)\b|that\s+was\s+(?:for|meant\s+for)\s+(?:another|a\s+different|the\s+other)\b|i\s+changed\s+my\s+mind|just\s+kidding|",
            r"(?:that|this)\s+(?:rule\s+)?no\s+longer\s+applies|it\s+no\s+longer\s+applies|cancel\s+that\b|disregard\s+what\s+i\s+(?:just\s+)?said|on\s+second\s+thought\b|my\s+mistake\b|(?:that|it)\s+was\s+a\s+joke|that\s+was\s+about\s+(?:another|a\s+different|the\s+other)\b)|^(?:刚才说错了|今のは忘れて|算了|忘了吧|当我没说|やっぱり(?:なし|いい)|忘れて|취소|아니다)"
        ))
    });
    // What else there is to say when one takes something back.
    const IDLE: &[&str] = &[
        "please",
        "that",
        "this",
        "for",
        "another",
        "different",
        "other",
        "project",
        "window",
        "chat",
        "tab",
        "was",
        "meant",
        "wrong",
        "again",
        "sorry",
        "before",
        "message",
        "rule",
        "one",
        "and",
        "the",
        "just",
        "all",
        "ignore",
        "forget",
        "scrap",
        "undo",
        "oops",
        "never",
        "changed",
        "mind",
        "mistake",
        "kidding",
        "joke",
        "longer",
        "applies",
        "second",
        "thought",
        "said",
        "what",
        "last",
        "prompt",
        "thing",
        "now",
        "not",
        "you",
        "don",
        "dont",
        "only",
        "joking",
        "here",
        "from",
        "true",
        "right",
        "is",
        "stale",
        "correct",
        "isnt",
        "still",
        "use",
        "wait",
    ];
    let found = BACK.find(sentence)?;
    static IDLE_TIGHT: LazyLock<Regex> =
        LazyLock::new(|| regex(r"忽略|上一条|上一個|刚才|说的|说错|前面的?|请|さっき|忘れて|방금|말한"));
    let rest = format!("{} {}", &sentence[..found.start()], &sentence[found.end()..]);
    let rest = IDLE_TIGHT.replace_all(&rest, " ");
    let words = normalise_words(&rest).into_iter().filter(|word| !IDLE.contains(&word.as_str())).collect();
    Some(TakenBack { words })
}

/// What else a sentence speaks of that takes something back.
pub(crate) struct TakenBack {
    words: BTreeSet<String>,
}

impl TakenBack {
    /// Whether it takes back what a sentence said.
    pub(crate) fn means(&self, said: &str) -> bool {
        let begins = |word: &String| word.chars().take(5).collect::<String>();
        let said: BTreeSet<String> = normalise_words(said).iter().map(begins).collect();
        self.words.is_empty() || self.words.iter().map(begins).any(|word| said.contains(&word))
    }
}

/// A person's text up to where they paste what somebody or something else wrote: what follows a line like `The customer
/// writes:`, `Here is the output:` or `Anna's review:`, and what has the head of a mail. What they say before it on the same
/// line stays.
pub(crate) fn before_paste(text: &str) -> &str {
    static PASTES: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(?im)^[^\n]{0,200}?(?:\b(?:say(?:s|ing)?|said|writes?|wrote|answer(?:s|ed)|replied|prints?|printed|told\s+(?:us|me)|found\s+(?:this|it)|get\s+this)\b[^\n:]{0,50}|",
            r"\b(?:here(?:['’]s|\s+is|\s+are)|this\s+is|look\s+at|from|in)\b[^\n:]{0,60}\b(?:readme|contributing|claude|agents|changelog|log|output|error|message|mail|ticket|slack|diff|text|file|page)(?:\.md)?\b[^\n:]{0,40}|",
            r"^slack\b[^\n:]{0,20}):[ \t]*\r?$|",
            r"^(?:subject|from|to|date|ticket|description|reporter):[ \t]+\S[^\n]*$|^<(?:file|document|attachment|pasted)\b[^\n]*$|^changelog\b[^\n]{0,20}:?[ \t]*$|^(?:review\s+this\s+diff|git\s+log)\b[^\n]{0,20}$|",
            r"^(?:(?:fix|correct|check)\s+the\s+(?:grammar|spelling)|translate|rephrase|proofread)\b[^\n]{0,80}$"
        ))
    });
    static OWN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:i|we)(?:['’]ve|\s+have)?\s+(?:just\s+|already\s+)?(?:said|say|wrote|told)\b|\b(?:rules?|conventions?|guidelines)\b|\bfrom\s+now\s+on\b|\bi(?:['’]m|\s+am|['’]d|\s+would)?\s+(?:want|need|like|saying|ask|expect)\b|\bi['’]d\b",
        )
    });
    // A document by its name, with its text below; who asks for a change of one says what it shall be.
    static DOCUMENTS: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(?im)^(?:(?:here(?:['’]s|\s+is|\s+are)|below\s+is|this\s+is|that['’]s)\s+[^\n:]{0,60}?|(?-i:[A-Z][a-z]+)['’]s\s+[^\n:]{0,20}?|[^\n:]{0,40}?)",
            r"\b(?:guide|guidelines|docs?|document|spec|prompt|reviews?|comments?|feedback|e?-?mail|ticket|template|draft|article|transcript|policy|newsletter|contract|sample|readme|claude|agents|contributing)(?:\.md)?",
            r"(?:\s+(?:of|from|by)\s[^\n:]{1,40}|\s+(?:is|was|reads|goes))?:[ \t]*\r?\n"
        ))
    });
    // Somebody's, and not one's own.
    static FOREIGN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^(?:here|below|this\s+is|that['’]s)\b|^(?-i:[A-Z][a-z]+)['’]s\s|\b(?:of|from|by)\s|\s(?:is|was|reads|goes):\s*$",
        )
    });
    static ASKED_FOR: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:my|these|our)\s+(?:\w+\s+){0,2}(?:rules?|guidelines|comments?|feedback|docs?|reviews?|policy|guide)\b|\bfrom\s+me\b|\b(?:update|write|add|change|edit|create|fix|extend|follow|do|keep|use|put)\b",
        )
    });
    let is_own = |head: &str| head.trim_end().ends_with(':') && OWN.is_match(head);
    // What is fenced ends with its fence, and is nobody's sentence anyway.
    let is_open = |end: usize| !text[end..].trim_start().starts_with("```");
    let paste = PASTES.find_iter(text).find(|found| !is_own(found.as_str()) && is_open(found.end()));
    let is_foreign = |head: &str| FOREIGN.is_match(head) && !ASKED_FOR.is_match(head);
    let document = DOCUMENTS.find_iter(text).find(|found| is_foreign(found.as_str()) && is_open(found.end()));
    let Some(found) = paste.into_iter().chain(document).min_by_key(|found| found.start()) else {
        return text;
    };
    let head = found.as_str().trim_end();
    let said_before = [". ", "! "].iter().filter_map(|end| head.rfind(end)).max().map_or(0, |at| at + 1);
    &text[..found.start() + said_before]
}

/// A sentence without what stands in it between quotation marks, where that is more than a name.
pub(crate) fn without_quotes(sentence: &str) -> String {
    static QUOTES: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r#""[^"\s]+\s[^"]*\s[^"]*"|“[^”\s]+\s[^”]*\s[^”]*”|„[^“”\s]+\s[^“”]*\s[^“”]*[“”]|«[^»]*\s[^»]*»|「[^」]{4,}」|『[^』]{4,}』|"#,
            r"(?P<before>^|[\s(:])'[^'\s]+\s[^']*\s[^']*'(?P<after>[\s.,;:!?)]|$)"
        ))
    });
    QUOTES.replace_all(sentence, "$before…$after").into_owned()
}

/// `sentence` behind the words that reject what was said before: `That's wrong, the API listens on port 4000.`
pub(crate) fn after_rejection(sentence: &str) -> &str {
    static REJECTION: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^\W*(?:no\W+)?(?:correction|update|heads[\s-]up|(?:that|this|it)(?:['’]s|\s+is|\s+was)\s+(?:wrong|incorrect|outdated|stale|not\s+(?:true|right|correct)(?:\s+any\s*more)?|no\s+longer\s+(?:true|right|correct|the\s+case))|wrong|incorrect|not\s+any\s*more)\s*[,:;–—-]\s*",
        )
    });
    REJECTION.find(sentence).map_or(sentence, |found| &sentence[found.end()..])
}

/// The sentences of a line that state something themselves: without talk about memories, and without what such talk
/// quotes, up to the closing quote.
pub(crate) fn own_sentences(line: &str, by_agent: bool) -> Vec<&str> {
    let mut own = Vec::new();
    let mut is_quoting = false;
    let listed = LISTED.is_match(line);
    for sentence in sentences(line).into_iter().filter(|_| !listed) {
        let opens = sentence.matches(['“', '„', '«', '「', '『']).count();
        let closes = sentence.matches(['”', '»', '」', '』']).count();
        let turns = sentence.matches('"').count() % 2 == 1;
        if is_quoting {
            is_quoting = !(turns || closes > opens || sentence.contains('“') && opens == 1);
        } else if is_report(sentence, by_agent) {
            is_quoting = turns || opens > closes;
        } else {
            own.push(sentence);
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "from now on always run the tests before committing";

    #[test]
    fn what_a_person_asks_or_doubts_is_no_statement() {
        for doubt in [
            "Do we always rebase before merging",
            "I wonder whether the staging server listens on port 7777.",
            "Forget that the API listens on port 3333.",
            "I think you remember that the web server listens on port 1111.",
            "The API listens on port 4444, no wait, that is wrong.",
            "Maybe the cache service listens on port 5555.",
            "I thought the parcel service listens on port 6666.",
            "The docs claim that the API always returns 200.",
            "A customer asked that exports always include the header row.",
            "I wonder whether the API listens on http://localhost:3333.",
            "Our support team says we never delete accounts.",
        ] {
            assert!(is_doubt(doubt), "{doubt}");
        }
        for told in [
            "Do the tests first.",
            "Will you always run the linter before a commit",
            "Have the linter run before every commit.",
            "I think we should always rebase.",
            "Never forget that the API listens on port 3333.",
            "I thought about it: always use pnpm for installs.",
            "I don't know why you did this, but never edit the generated files.",
            "I guess it was not clear: never push to main.",
            "I don't think npm is good, so always use pnpm.",
            "I was wrong about yarn: always use pnpm.",
            "That's wrong, the API listens on port 4000.",
            "Make sure you remember that we never push to main.",
            "The API listens on port 3000, that is not true for staging.",
            "I believe in small commits.",
            "The spec says that ids are always lower case.",
            "The docs say 200, but the API always returns 204 for deletes.",
            "Customers are always billed in euros.",
        ] {
            assert!(!is_doubt(told), "{told}");
        }
    }

    #[test]
    fn what_follows_a_rejection_is_what_is_said() {
        for (said, told) in [
            ("That's wrong, the API listens on port 4000.", "the API listens on port 4000."),
            ("No, that is no longer true: use pnpm.", "use pnpm."),
            ("Wrong, use pnpm.", "use pnpm."),
            ("That is wrong.", "That is wrong."),
            ("Wrong turns are never logged.", "Wrong turns are never logged."),
        ] {
            assert_eq!(after_rejection(said), told);
        }
    }

    #[test]
    fn talk_about_a_memory_is_told_from_a_statement() {
        let talk = [
            "This memory is wrong: RULE",
            "That stored fact is no longer true: RULE",
            "Please forget the memory \"RULE\"",
            "Delete the note that says RULE",
            "can you remove that memory: RULE",
            "2026-11-25 10:00 [memory] RULE",
            "[2026-11-25T10:00:03Z] RULE",
            "- [memory] RULE",
            "You told me: RULE",
            "But you said RULE",
            "You have recorded \"RULE\"",
            "The brief says that RULE",
            "The brief says that from now on I should always run the tests before committing",
            "It says RULE",
            "According to your memory, RULE",
            "I read in the brief that RULE",
            "The memory \"RULE\" confuses me",
            "\"RULE\" is not true any more",
            "Diese Erinnerung ist falsch: RULE",
            "Bitte vergiss die Erinnerung „RULE“",
            "Du hast gesagt: RULE",
            "Im Briefing steht: RULE",
            "这条记忆是错的：提交前必须运行测试",
            "请忘记这条记忆：提交前必须运行测试",
            "你说过提交前必须运行测试",
            "简报里写着提交前必须运行测试",
            "その記憶は間違いです：コミットする前に必ずテストを実行する",
            "이 기억은 틀렸어요: 커밋 전에 항상 테스트",
        ];
        for sentence in talk {
            let sentence = sentence.replace("RULE", RULE);
            assert!(is_report(&sentence, false), "{sentence}");
        }
        let statements = [
            RULE,
            "I told you: always run the tests before committing",
            "You asked for a compact layout in the header",
            "Never forget to measure memory before releasing",
            "Note: the broker needs 2 GB of memory before deploying",
            "Always delete the record from the table before deploying",
            "Make sure you remember to run the tests before committing",
            "Remember: the user prefers solid borders",
            "The memory limit is 2 GB",
            "Please remove the memory leak checks before releasing",
            "记住：数据库迁移脚本不能修改",
            "Vergiss nie, vor dem Commit die Tests laufen zu lassen",
        ];
        for sentence in statements {
            assert!(!is_report(sentence, false), "{sentence}");
        }
        assert!(!is_report("You said you prefer solid borders", true));
    }

    #[test]
    fn what_a_report_quotes_goes_to_its_end_and_a_correction_stays() {
        let own = |line| own_sentences(line, false);
        assert_eq!(
            own("This memory is wrong: \"Use npm. Never use pnpm.\" Always use pnpm here."),
            ["Always use pnpm here."]
        );
        assert_eq!(own("This memory is wrong: use npm. Always use pnpm here."), ["Always use pnpm here."]);
        assert_eq!(own("The memory “Use npm. Never pnpm.” is stale."), ["is stale."]);
        assert_eq!(own("2026-11-25 10:00 x. Always use pnpm here."), Vec::<&str>::new());
        assert_eq!(own("Always use pnpm. Never npm."), ["Always use pnpm.", "Never npm."]);
    }
}
