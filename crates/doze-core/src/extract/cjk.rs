//! Rules and preferences that the person stated in Chinese, Japanese or Korean.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::Kind;
use crate::tokens::is_cjk;

/// A sentence with fewer characters of these scripts is judged as English.
const MIN_CJK: usize = 4;
const MAX_CHARS: usize = 200;

/// Words of permanence: always, never, from now on, must, remember.
static LASTING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)以后|今后|从现在起|从今以后|总是|永远|始终|一律|务必|必须|绝不|千万(?:不要|别)|记住|请记住|每次|默认(?:使用|用)|不要再|別再|以後|總是|永遠|必須|記住|不得|不应该|不應該|不要(?:修改|改动|动|删除|提交|碰).{0,30}(?:目录|文件|文件夹|分支)|(?:注释|文档|信息|说明|README).{0,4}请?用(?:中文|英文|日文)|统一(?:用|使用|采用)|統一(?:使用|採用)
        |必ず|常に|いつも|絶対に|今後|これからは|毎回|覚えておいて|しないでください|使わないでください|禁止|ないでください|てはいけません|べき(?:です|だ|では)|に統一|は(?:英語|日本語|中国語)で(?:書|お願い)|ポート(?:番号)?は\s*\d{2,5}
        |항상|언제나|절대|반드시|앞으로|매번|기억해|하지\s?마세요|쓰지\s?마세요|사용하지\s?마|하지\s?말고|(?:은|는)\s.{2,60}해야\s?(?:합니다|해요|한다|함)|하면\s?안\s?(?:됩니다|돼요|된다|됨)|(?:으로|로)\s?통일|(?:메시지|주석|문서)(?:는|은)\s(?:한국어|영어|중국어)로\s?(?:작성|써)|\d{2,5}\s?(?:번\s?)?포트를?\s?사용",
    )
    .expect("a valid pattern")
});

/// One thing in place of another.
static CONTRAST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)(?:不要|别|不)用.{1,30}(?:改用|用|使用)|(?:用|使用).{1,30}(?:代替|替代|而不是|，?不要用|，?别用)|改用.{2,}|优先(?:使用|用|考虑)|(?:用|使用)\s*\S{1,20}[，,]\s*不用
        |(?:では?なく|じゃなく|の代わりに).{1,40}(?:を?使|で実行|にして|を?利用)|(?:말고|대신(?:에)?).{1,40}(?:사용|써|쓰|실행)",
    )
    .expect("a valid pattern")
});

/// What the speaker likes.
static LIKING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"我(?:更|比较|很)?(?:喜欢|偏好|习惯|讨厌|不喜欢)|(?:方|ほう)が(?:好き|いい|良い)|好みは|を好みます|선호(?:해|합|하)|(?:더|게)\s?좋아")
        .expect("a valid pattern")
});

/// How things are done here.
static CUSTOM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:我们|我們|本项目|这个项目|该项目|项目里)(?:都|只|一直|统一)?(?:用|使用|采用|不用|遵循)|(?:(?:このプロジェクト|弊社|うち|私たち)(?:は|では|で)|^\S{1,12}には).{1,40}(?:使っています|使います|使用します|採用しています)|(?:우리는|이\s?프로젝트는|저희는).{1,40}(?:사용합니다|사용해요|씁니다|쓰고\s?있)")
        .expect("a valid pattern")
});

/// Things of the moment, questions, and words that point outside the sentence.
static PASSING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)[?？]|吗|嗎|呢[。！]?$|什么|怎么|为什么|是否|现在|暂时|先|这次|这个(?:问题|错误|文件)|刚才|上面|今天|明天|一下
        |ですか|ますか|でしょうか|今回|とりあえず|一旦|先ほど|上記|今は|今日|この(?:エラー|問題)
        |까[요?]|나요|인가요|지금|일단|이번|방금|위의|오늘|우선|먼저|이거|그거",
    )
    .expect("a valid pattern")
});

/// Whether a text is written in one of these scripts.
pub(super) fn is_mostly(text: &str) -> bool {
    text.chars().filter(|c| is_cjk(*c)).count() >= MIN_CJK
}

/// What an agent says about the moment, or asks.
static PASSING_NOW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)[?？]|吗[。！]?$|嗎[。！]?$|今天|明天|刚才|刚刚|这次|本次|今回|先ほど|今日|방금|오늘|이번\s?(?:세션|커밋|PR|변경|작업|턴)|드릴까요|할까요|ましょうか|でしょうか",
    )
    .expect("a valid pattern")
});

/// The same for what an agent states, which speaks of the present by nature.
pub(super) fn passes(sentence: &str) -> bool {
    is_mostly(sentence) && PASSING_NOW.is_match(sentence)
}

/// What a sentence amounts to, and how sure that is; `None` for other languages and for what does not last.
pub(super) fn judge(sentence: &str) -> Option<(Kind, f64)> {
    let chars = sentence.chars().count();
    let cjk = sentence.chars().filter(|c| is_cjk(*c)).count();
    if cjk < MIN_CJK
        || chars > MAX_CHARS
        || !super::gate::has_substance(sentence)
        || super::gate::is_one_off(sentence)
        || PASSING.is_match(sentence)
    {
        return None;
    }
    if LIKING.is_match(sentence) {
        Some((Kind::Preference, 0.8))
    } else if LASTING.is_match(sentence) {
        Some((Kind::Convention, 0.8))
    } else if CONTRAST.is_match(sentence) {
        Some((Kind::Convention, 0.75))
    } else if CUSTOM.is_match(sentence) {
        Some((Kind::Convention, 0.7))
    } else {
        None
    }
}
