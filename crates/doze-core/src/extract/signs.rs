//! Signs in a sentence of the agent, and what each of them weighs: for a finding that lasts, or for a report, a plan
//! or a guess. One sign never decides; [`super::diagnosis`] adds what stands around the sentence.

use std::sync::LazyLock;

use regex::Regex;

use crate::text;

/// A sign and its weight.
struct Sign {
    weight: i32,
    pattern: LazyLock<Regex>,
}

macro_rules! sign {
    ($weight:expr, $pattern:expr) => {
        Sign { weight: $weight, pattern: LazyLock::new(|| text::regex($pattern)) }
    };
}

/// Where they stand in the table.
const CAUSE: usize = 0;
const FOLLOWS: usize = 1;
const LIMIT: usize = 3;
const WOULD: usize = 4;
const HAZARD: usize = 5;
const BEHAVES: usize = 6;
const REPORT: usize = 8;

static SIGNS: [Sign; 13] = [
    // It names the cause, or the thing that matters.
    sign!(
        2,
        r"(?ix)\b(?:root\s+cause|culprit|failing\s+path|turns\s+out|(?:which|that|this)\s+(?:also\s+)?explains|because\s+of\s+(?:this|that)
        |(?:the|a|one|another|its)\s+(?:\w+\s+){0,3}?(?:cause|difference|catch|gotcha|pitfall|caveat|trick|problem|issue|bug|reason|subtlety|subtle\s+bit|failure|error|mismatch|gap|regression|race|conflict|hang|crash)\s*(?:is|was|here|comes?\s+from|came\s+from|stems\s+from|happens|occurs|:)
        |(?:fails?|failed|failing|breaks?|broke|crashe[sd]|hangs?|happens?|occurs?)\s+(?:because|since|when(?:ever)?|if|only|as\s+soon\s+as|on\s+\w+\s+because)
        |(?:is|are|was|were)\s+(?:caused|triggered)\s+by|(?:boils|comes)\s+down\s+to|due\s+to|misleading|by\s+design|on\s+purpose|intentional(?:ly)?|deliberate(?:ly)?)
        |(?:근본\s*)?원인(?:은|이)|문제는|이유는|때문(?:에|이)|의도(?:된|적)|根因|根本(?:的)?原因|原因(?:是|在于|在於|は)|(?:问题|問題)(?:在于|出在|在於|是|は)|之所以|由于|由於|导致|導致|ため(?:に|、|です)|せいで|が原因"
    ),
    // One thing follows from another.
    sign!(
        1,
        r"(?i)\b(?:because|since|so\s+(?:that|the|each|every|a|an|it|no|only|all|when)|which\s+(?:means|meant|would|is\s+why|causes?|made|makes)|that\s+means|means\s+that|this\s+means|due\s+to|therefore|thus|hence|otherwise|as\s+a\s+result|to\s+avoid|in\s+order\s+to)\b|,\s+so\s|[—–]\s*so\s|(?:므로|니까|어서|아서|라서|기\s*때문|따라서|그래서|위해|탓에|도록)|因为|因為|所以|因此|从而|以便|以免|ので|から、|そのため|したがって"
    ),
    // One thing against another.
    sign!(
        1,
        r"(?i)\b(?:but|instead|rather\s+than|while|although|whereas|however|unlike|even\s+though|not\s+only|not\s+just|despite|regardless|still|yet)\b|,\s+not\s|[—–]\s*not\s|지만|는데|반면|대신|아니라|아닌|그런데|하지만|그러나|(?:但是?|却|卻|而不是|而是|虽然|雖然|然而|不过)|(?:では?なく|しかし|一方|のに|代わりに)"
    ),
    // A limit.
    sign!(
        1,
        r"(?i)\b(?:does\s?n['’]?o?t|do\s?n['’]?o?t|did\s?n['’]?o?t|is\s?n['’]?t|are\s?n['’]?t|was\s?n['’]?t|were\s?n['’]?t|wo\s?n['’]?t|has\s?n['’]?t|can\s?n?['’]?o?t|never|only|without|missing|absent|unavailable|no\s+longer|unsupported|not\s+(?:\w+ly\s+)?(?:registered|set|supported|installed|found|available|checked|called|used|included|covered|enough|part|the)|no\s+such|ignores?|ignored|silently|loses|lost|unless|except|stale|hardcoded|deprecated|unsafe|lacks?|limited|swallow(?:s|ed)|drops?|dropped|skips?|skipped|overwrit(?:es?|ten)|duplicated?)\b|않[는아습은았]|없[는어습이으었]|못[하합한했]|안\s?(?:됩|되|돼)|불가|누락|빠[져지진]|어긋|깨[지진져]|잘못|비어\s?있|끊[기긴겨]|무시|중복|没有|沒有|无法|無法|不会|不會|不能|不支持|未|缺少|忽略|できない|できません|されない|されません|しない|ません|なかった|ない(?:。|ため|ので)"
    ),
    // What would happen.
    sign!(
        1,
        r"(?i)\b(?:would|will)\s+(?:\w+\s+)?(?:replace|delete|overwrite|break|fail|try|lose|drop|create|hang|leave|miss|skip|crash|reset|remove|match|return|conflict|silently)\b|(?:될|할|질)\s*수\s*있|会(?:被|导致|丢失|失败|覆盖)|てしまう|てしまいます"
    ),
    // What somebody did not do, since it would.
    sign!(
        2,
        r"(?i)\bif\s[^.]{5,120},\s+(?:it|this|that|then|you|they|the\s+\w+)(?:\s+(?:would|will)|['’](?:d|ll))\b"
    ),
    // How a thing with a name behaves.
    sign!(
        1,
        r"(?i)`[^`]+`\)?\s+(?:\w+\s+)?(?:\w+ly\s+|now\s+|also\s+|already\s+|really\s+|still\s+|just\s+)?(?:is|are|was|were|uses?|reads?|returns?|creates?|expects?|requires?|prints?|renders?|needs?|calls?|checks?|runs?|treats?|catch(?:es)?|accepts?|hash(?:es)?|lives?|does|doesn['’]t|do|don['’]t|has|have|only|never|can(?:not|['’]t)?|skips?|drops?|writes?|resolves?|defaults?|fails?|keeps?|ignores?|traded|expected|takes?|sets?|stores?|deletes?|removes?|loads?|passes|sends?|contains?|includes?|falls?|produces?|supports?|matches|assumes?|emits?|handles?|inherits?|overrides?|depends?|comes?|gives?|means?|points?|exits?|starts?|stops?|works?|adds?|looks?|compares?|parses?|registers?|derives?|must|should|will|would)\b|`\s?(?:은|는|이|가|을|를|에|의|로|도|와|과|만|까지|の|は|が|を|に|で|と|も|是|会|會|只|在|没有|沒有|不|的|被|把|将|將|需要|必须|仍|也|已)"
    ),
    // How something must be.
    sign!(
        1,
        r"(?i)\b(?:must(?:\s+not)?|always|has\s+to|have\s+to|needs?\s+to|only\s+(?:when|if|after|for|on|in)|required|make\s+sure|ensure|guarantees?)\b|해야|필수|반드시|必须|必須|需要|一定要|べき|なければ"
    ),
    // A report of what was done, a plan, chatter, an address to somebody.
    sign!(
        -4,
        r"(?i)^(?:\W*)(?:i|i['’]\w+|we|we['’]\w+|let|let['’]s|now|next|done|all|ok(?:ay)?|great|good|perfect|excellent|you|your|yes|no|sorry|thanks?|looking|checking|running|added|updated|fixed|removed|changed|created|implemented|verified|investigated|opened|posted|committed|pushed|moved|renamed|replaced|refactored|extracted|cleaned|wrote|made|both|here['’]?s?|summary|first|finally|then|after\s+(?:this|that)|before\s+(?:i|we))\b|(?:하겠습니다|할게요|완료|드릴까요|할까요|보겠습니다|주세요|해줘)[.!。]?$|^(?:让我|讓我|我来|我來|我将|我會|我会|接下来|接下來|已经?(?:完成|修复|更新|提交|推送)|首先|然后)|(?:しましょう|ください|ましょうか|していきます|確認します)[。.]?$"
    ),
    // What somebody else says, who may be wrong.
    sign!(
        -6,
        r"(?i)^(?:the\s+|this\s+|that\s+)?(?:author|reporter|report|user|discussion|issue|comment|commenter|ticket|maintainer|thread|reviewer|bot|article|post|docs?|documentation|readme|error|log)s?\s+(?:also\s+)?(?:says?|said|reports?|asks?|wants?|claims?|mentions?|suggests?|states?|thinks?|notes?|describes?|is\s+(?:fresh|about|asking))\b|\baccording\s+to\s+(?:the\s+)?(?:author|reporter|report|discussion|issue|user)\b"
    ),
    // A report in the past: it may tell a cause as well.
    sign!(
        -2,
        r"(?:했습니다|됐습니다|되었습니다|하였습니다|했어요|했음|됨)[.!。]?$|^已|(?:しました|されました)[。.]?$"
    ),
    // A guess.
    sign!(
        -5,
        r"(?i)\b(?:might|maybe|perhaps|probably|possibly|likely|seems?|seemed|appears?|apparently|i\s+(?:think|guess|believe|suspect|assume|wonder)|not\s+sure|unclear|could\s+be|could\s+also|should\s+be\s+(?:fine|ok|good)|worth\s+\w+ing|if\s+you\s+(?:want|like|prefer|need)|if\s+we\s|would\s+you|do\s+you|usually\s+means|let\s+me\s+know|feel\s+free|consider)\b|것\s*같|듯\s*(?:합|하|싶)|아마|추정|가능성|可能|也许|也許|大概|或许|应该是|かもしれ|たぶん|おそらく|と思われ"
    ),
    // It passes: the state of this run, of this change.
    sign!(
        -4,
        r"(?i)\b(?:now\s+(?:passes|works|shows?|fails|green)|passed|all\s+tests|tests?\s+(?:now\s+)?pass(?:es)?|committed|pushed|rebas\w+|still\s+(?:running|building|compiling|processing|pending|in\s+flight)|finished|(?:is|are)\s+(?:now\s+)?(?:green|running|done|clean|complete|ready|in\s+place|open|merged)|my\s+(?:change|edit|fix|patch|assertion|test)|so\s+far|ready\s+(?:to|for)|the\s+(?:\w+\s+)?(?:pr|pull\s+request|branch|commit|worktree|diff|review|plan|task|monitor|checks?|ci|pipeline|merge\s+state)s?\s+(?:(?:is|are|was|were|has\s+been|have\s+been)\s+(?:now\s+|all\s+|still\s+)?(?:open|pushed|ready|created|green|clean|done|merged|up|live|posted|staged|complete|blocked|in\s+place|behind|ahead|updated|scoped|queued|tracking|through|confirmed)|looks?|will|moved)|the\s+user\s+(?:wants?|asked|said|says)|github\s+(?:has|is|shows|still)|pending|they['’]re\s+(?:now|still|pending))\b|통과했|通过了|成功しました"
    ),
];

/// What the signs in a sentence weigh together.
pub(super) fn weight(sentence: &str) -> i32 {
    let found: Vec<bool> = SIGNS.iter().map(|sign| sign.pattern.is_match(sentence)).collect();
    let signs: i32 = SIGNS.iter().zip(&found).filter(|(_, found)| **found).map(|(sign, _)| sign.weight).sum();
    // How a thing behaves, and what follows from it: a mechanism.
    signs + i32::from(found[FOLLOWS] && found[BEHAVES])
}

/// Whether a sentence says that there is trouble, and nothing of how it comes about.
pub(super) fn only_names_trouble(sentence: &str) -> bool {
    let has = |sign: usize| SIGNS[sign].pattern.is_match(sentence);
    has(CAUSE) && ![FOLLOWS, LIMIT, WOULD, HAZARD, BEHAVES].into_iter().any(has)
}

/// What a label that names a cause adds to the sentence behind it.
pub(super) fn weight_of_label(label: &str) -> i32 {
    if SIGNS[CAUSE].pattern.is_match(label) { SIGNS[CAUSE].weight } else { 0 }
}

/// Whether a sentence tells of trouble: its cause, what would bring it, or that something fails.
pub(super) fn tells_trouble(sentence: &str) -> bool {
    static FAILS: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"(?i)\b(?:fail(?:s|ed|ing|ures?)?|errors?|crash(?:e[sd])?|hangs?|broken?|breaks|lost|loses?|wrong(?:ly)?|stale|leaks?|corrupt\w*|silently|panics?|conflicts?|duplicated?)\b|실패|오류|에러|깨[지진져]|잘못|失败|失敗|错误|錯誤|丢失|崩溃|エラー|バグ|落ち",
        )
    });
    FAILS.is_match(sentence) || [CAUSE, HAZARD].iter().any(|sign| SIGNS[*sign].pattern.is_match(sentence))
}

/// Whether a sentence says how things are done in this project.
pub(super) fn tells_custom(sentence: &str) -> bool {
    static CUSTOM: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"(?i)\b(?:conventions?|existing\s+patterns?|house\s+style|(?:repo(?:sitory)?|project|codebase|team)(?:['’]s)?\s+(?:\w+\s+)?(?:uses?|requires?|expects?|follows?|prefers?|rules?|style|patterns?|policy)|by\s+policy|are\s+checked[\s-]in|is\s+checked[\s-]in|generated\s+from)\b|관례|컨벤션|규칙|约定|約定|规范|規範|慣習|規約",
        )
    });
    CUSTOM.is_match(sentence)
}

/// Whether a sentence reports or plans.
pub(super) fn is_report(sentence: &str) -> bool {
    SIGNS[REPORT].pattern.is_match(sentence)
}

/// A name in code marks, a path, a flag, a variable or another word that only programs have.
pub(super) fn names_something(sentence: &str) -> bool {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"`[^`]+`|(?:^|\s)--?[a-z][\w-]+|\b\w+[._/]\w+\.\w{1,5}\b|\b[a-z]+_\w+|\b[a-z]+[A-Z]\w+|\b[A-Z]{2,}_\w+|\b[A-Z][a-z]+[A-Z]\w+|\b\w+\.(?:rs|ts|tsx|js|py|go|java|kt|rb|c|h|cpp|toml|json|yaml|yml|md|sh|sql)\b|\bstd(?:out|err|in)\b",
        )
    });
    NAME.is_match(sentence)
}
