//! How often a task gets the guidance that is about it, and no other:
//!
//! - on a few entries in English and in Chinese that are written down here, and tasks in the words of a user;
//! - on each bank of skills beneath `AIDEN_RETRIEVAL_SET`, a directory of such directories, where the task is one of a skill's
//!   `triggers`, and all of these are left out of it. The banks in AutoSkill's public `SkillBank/ConvSkill` are such a set, and
//!   with them `SkillBank/Users/chinese_gpt3.5_8_GLM4.7`.
//!
//! Of a bank, each whole skill is an entry, and the ranking is looked at; then short entries are made of a few skills at a time,
//! and what passes the gate is looked at, for tasks of these skills and of others.
//!
//! `cargo bench --bench guidance` prints it, and fails where it is worse than the first measurements, which these rules were
//! chosen by. The public set takes a quarter of an hour.

#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use aiden_skills::evolve::{Entry, MAX_ENTRIES, rank, retrieve};
use aiden_skills::skill::SkillDocument;
use serde_json::json;

/// What BM25F had on a bank at first.
struct Ranked {
    bank: &'static str,
    recall: Recall,
}

const RANKED: [Ranked; 6] = [
    ranked("chinese_gpt4_8", 91.3, 97.2),
    ranked("chinese_gpt3.5_8", 90.4, 96.1),
    ranked("chinese_gpt3.5_8_GLM4.7", 80.4, 88.3),
    ranked("english_gpt4_8", 89.6, 95.6),
    ranked("english_gpt4_8_GLM4.7", 78.2, 88.5),
    ranked("chat_message_openai_GLM4.7", 77.7, 88.6),
];

const fn ranked(bank: &'static str, at_1: f64, at_5: f64) -> Ranked {
    Ranked {
        bank,
        recall: Recall { at_1, at_5 },
    }
}

/// What the gate had at first among so many entries. It was chosen on two banks; it had not seen the other two.
struct Gated {
    bank: &'static str,
    entries: usize,
    gate: Option<Gate>,
}

const GATED: [Gated; 8] = [
    gated("chinese_gpt4_8", 20, gate(90.2, 94.9, 9.1)),
    gated("english_gpt4_8", 20, gate(92.7, 96.8, 10.3)),
    gated("chinese_gpt4_8", 100, gate(90.5, 80.1, 26.7)),
    gated("english_gpt4_8", 100, gate(92.5, 84.3, 36.7)),
    gated("chinese_gpt3.5_8", 20, gate(89.7, 96.1, 9.2)),
    gated("english_gpt3.5_8", 20, gate(91.8, 96.0, 12.4)),
    gated("chinese_gpt3.5_8", 100, None),
    gated("english_gpt3.5_8", 100, None),
];

const fn gated(bank: &'static str, entries: usize, gate: Option<Gate>) -> Gated {
    Gated {
        bank,
        entries,
        gate,
    }
}

const fn gate(gold: f64, precision: f64, off_topic: f64) -> Option<Gate> {
    Some(Gate {
        gold,
        precision,
        off_topic,
    })
}

/// So much worse is no worse: other triggers, other draws.
const RANK_TOLERANCE: f64 = 0.2;
const GATE_TOLERANCE: f64 = 3.0;

/// How often a bank is drawn from.
const DRAWS: u64 = 30;
/// Of each skill, as many tasks are tried at the gate; those that follow stray from it.
const TASKS: usize = 3;
const KEYWORDS: usize = 5;

/// A task, and the place of the entry that is about it.
struct Task<'t> {
    text: &'t str,
    wanted: usize,
}

/// How often the entry that a task is about comes first, and among five; in per cent.
struct Recall {
    at_1: f64,
    at_5: f64,
}

impl Recall {
    fn is_as_good_as(&self, other: &Self, tolerance: f64) -> bool {
        self.at_1 >= other.at_1 - tolerance && self.at_5 >= other.at_5 - tolerance
    }
}

impl fmt::Display for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:8.1} / {:5.1}", self.at_1, self.at_5)
    }
}

/// How many tasks got the entry that they are about; how much of what was given it was; how many tasks of other things got
/// anything. In per cent.
struct Gate {
    gold: f64,
    precision: f64,
    off_topic: f64,
}

impl Gate {
    fn is_as_good_as(&self, other: &Self, tolerance: f64) -> bool {
        self.gold >= other.gold - tolerance
            && self.precision >= other.precision - tolerance
            && self.off_topic <= other.off_topic + tolerance
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            gold,
            precision,
            off_topic,
        } = self;
        write!(f, "{gold:8.1} / {precision:5.1} / {off_topic:4.1}")
    }
}

fn per_cent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

fn in_parallel<T: Sync, R: Send>(all: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let each = &each;
    thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(threads).max(1));
        let parts = parts.map(|part| scope.spawn(move || part.iter().map(each).collect()));
        let parts: Vec<_> = parts.collect();
        parts
            .into_iter()
            .flat_map(|part| -> Vec<R> { part.join().unwrap() })
            .collect()
    })
}

fn recall(entries: &[Entry], tasks: &[Task<'_>]) -> Recall {
    let places = in_parallel(tasks, |task| {
        let found = rank(entries, task.text, None);
        found.iter().position(|found| found.at == task.wanted)
    });
    let within = |most: usize| {
        let found = places.iter().flatten().filter(|place| **place < most);
        per_cent(found.count(), tasks.len())
    };
    Recall {
        at_1: within(1),
        at_5: within(5),
    }
}

/// What came of the tasks on some entries.
#[derive(Default)]
struct Tally {
    tasks: usize,
    found: usize,
    given: usize,
    others: usize,
    misled: usize,
}

impl Tally {
    fn of(entries: &[Entry], tasks: &[Task<'_>], others: &[&str]) -> Self {
        let mut tally = Self {
            tasks: tasks.len(),
            others: others.len(),
            ..Self::default()
        };
        for task in tasks {
            let given = retrieve(entries, task.text, None, MAX_ENTRIES);
            tally.given += given.len();
            tally.found += usize::from(given.iter().any(|given| given.at == task.wanted));
        }
        for other in others {
            let given = retrieve(entries, other, None, MAX_ENTRIES);
            tally.misled += usize::from(!given.is_empty());
        }
        tally
    }

    fn and(self, other: &Self) -> Self {
        Self {
            tasks: self.tasks + other.tasks,
            found: self.found + other.found,
            given: self.given + other.given,
            others: self.others + other.others,
            misled: self.misled + other.misled,
        }
    }

    fn gate(&self) -> Gate {
        Gate {
            gold: per_cent(self.found, self.tasks),
            precision: per_cent(self.found, self.given),
            off_topic: per_cent(self.misled, self.others),
        }
    }
}

struct Skill {
    name: String,
    description: String,
    tags: Vec<String>,
    triggers: Vec<String>,
    /// Without the triggers.
    body: String,
}

impl Skill {
    fn read(text: &str) -> Option<Self> {
        let document = SkillDocument::parse(text.as_bytes()).ok()?;
        let list = |name: &str| -> Vec<String> {
            let list = document.frontmatter().get(name);
            let list = list.and_then(|list| list.as_sequence());
            let texts = list.into_iter().flatten().filter_map(|text| text.as_str());
            texts.map(str::to_owned).collect()
        };
        let triggers = list("triggers");
        let body = document.body().lines().filter(|line| {
            let is_trigger = |trigger: &String| line.trim_start_matches("- ") == trigger;
            !triggers.iter().any(is_trigger)
        });
        Some(Self {
            name: document.name().to_owned(),
            description: document.description().to_owned(),
            tags: list("tags"),
            body: body.collect::<Vec<_>>().join("\n"),
            triggers,
        })
    }

    fn whole_entry(&self) -> Entry {
        let content = format!("{}\n{}", self.description, self.body);
        entry(&self.name, &content, &self.tags)
    }

    /// As a bank of guidance has them: with so many bullets.
    fn short_entry(&self, bullets: usize) -> Entry {
        let title = format!("{}: {}", self.name, first_sentence(&self.description));
        let all = self.body.lines().filter(|line| line.starts_with("- "));
        let content: Vec<&str> = all.take(bullets).collect();
        let content = if content.is_empty() {
            format!("- {}", self.description)
        } else {
            content.join("\n")
        };
        let keywords = &self.tags[..self.tags.len().min(KEYWORDS)];
        entry(&title, &content, keywords)
    }
}

fn entry(title: &str, content: &str, keywords: &[String]) -> Entry {
    let entry = json!({
        "skill_entry_id": "skl-000000000000", "title": title, "content": content, "version": "0.1.0",
        "keywords": keywords, "updated_at": "2026-01-01T00:00:00Z"
    });
    serde_json::from_value(entry).unwrap()
}

fn first_sentence(text: &str) -> &str {
    let end = text.char_indices().find(|(at, c)| {
        let after = text[at + c.len_utf8()..].chars().next();
        matches!(c, '。' | '！' | '？')
            || (matches!(c, '.' | '!' | '?') && after.is_none_or(char::is_whitespace))
    });
    end.map_or(text, |(at, c)| &text[..at + c.len_utf8()])
}

struct Bank(Vec<Skill>);

impl Bank {
    fn read(directory: &Path) -> Self {
        let mut paths: Vec<PathBuf> = fs::read_dir(directory)
            .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
            .map(|entry| entry.unwrap().path().join("SKILL.md"))
            .collect();
        paths.sort();
        let texts = paths
            .into_iter()
            .filter_map(|path| fs::read_to_string(path).ok());
        Self(texts.filter_map(|text| Skill::read(&text)).collect())
    }

    fn recall(&self) -> (usize, Recall) {
        let entries: Vec<Entry> = self.0.iter().map(Skill::whole_entry).collect();
        let tasks = self.0.iter().enumerate().flat_map(|(wanted, skill)| {
            let tasks = skill.triggers.iter();
            tasks.map(move |text| Task { text, wanted })
        });
        let tasks: Vec<Task<'_>> = tasks.collect();
        (tasks.len(), recall(&entries, &tasks))
    }

    fn gate(&self, entries: usize) -> Gate {
        let draws: Vec<u64> = (0..DRAWS).collect();
        let tallies = in_parallel(&draws, |draw| self.draw(entries, *draw));
        let all = tallies.iter().fold(Tally::default(), Tally::and);
        all.gate()
    }

    /// As many tasks of other skills are tried as of those that are drawn.
    fn draw(&self, entries: usize, seed: u64) -> Tally {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut skills: Vec<&Skill> = self.0.iter().collect();
        random.shuffle(&mut skills);
        let (drawn, left) = skills.split_at(entries.min(skills.len()));
        let bank = drawn
            .iter()
            .map(|skill| skill.short_entry(random.usize(3..=5)));
        let bank: Vec<Entry> = bank.collect();
        let tasks = drawn.iter().enumerate().flat_map(|(wanted, skill)| {
            let tasks = skill.triggers.iter().take(TASKS);
            tasks.map(move |text| Task { text, wanted })
        });
        let tasks: Vec<Task<'_>> = tasks.collect();
        let others = left
            .iter()
            .flat_map(|skill| skill.triggers.iter().take(TASKS));
        let mut others: Vec<&str> = others.map(String::as_str).collect();
        random.shuffle(&mut others);
        others.truncate(tasks.len());
        Tally::of(&bank, &tasks, &others)
    }
}

/// What became worse.
#[derive(Default)]
struct Worse(Vec<String>);

impl Worse {
    fn unless(&mut self, is_good: bool, what: impl FnOnce() -> String) {
        if !is_good {
            self.0.push(what());
        }
    }
}

fn public_set(set: &Path, worse: &mut Worse) {
    let mut paths: Vec<PathBuf> = fs::read_dir(set)
        .expect("AIDEN_RETRIEVAL_SET is a directory of banks")
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    println!("\nwhole skills                   entries  tasks   recall at 1, 5     BM25F at first");
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy();
        let bank = Bank::read(path);
        let (tasks, recall) = bank.recall();
        print!("{name:30} {:7} {tasks:6} {recall}", bank.0.len());
        let Some(first) = RANKED.iter().find(|first| first.bank == name) else {
            println!();
            continue;
        };
        println!("  {}", first.recall);
        let is_good = recall.is_as_good_as(&first.recall, RANK_TOLERANCE);
        worse.unless(is_good, || format!("the ranking on {name}"));
    }
    println!(
        "\nshort entries                  entries   right / given / misled   the gate at first"
    );
    for Gated {
        bank,
        entries,
        gate: first,
    } in &GATED
    {
        let Some(path) = paths.iter().find(|path| path.ends_with(bank)) else {
            continue;
        };
        let gate = Bank::read(path).gate(*entries);
        print!("{bank:30} {entries:7} {gate}");
        let Some(first) = first else {
            println!();
            continue;
        };
        println!("  {first}");
        let is_good = gate.is_as_good_as(first, GATE_TOLERANCE);
        worse.unless(is_good, || format!("the gate on {entries} of {bank}"));
    }
}

/// Of what is written down here, in per cent.
const LEAST: Recall = Recall {
    at_1: 95.0,
    at_5: 97.0,
};
const LEAST_ENGLISH: Gate = Gate {
    gold: 88.0,
    precision: 95.0,
    off_topic: 5.0,
};
const LEAST_CHINESE: Gate = Gate {
    gold: 75.0,
    ..LEAST_ENGLISH
};

/// An entry that is written down here, and tasks that it is about.
struct Lesson {
    title: &'static str,
    keywords: &'static [&'static str],
    content: &'static str,
    tasks: [&'static str; 3],
}

fn written_down(name: &str, lessons: &[Lesson], others: &[&str], least: &Gate, worse: &mut Worse) {
    let entries = lessons.iter().map(|lesson| {
        let keywords: Vec<String> = lesson.keywords.iter().map(|&word| word.into()).collect();
        entry(lesson.title, lesson.content, &keywords)
    });
    let entries: Vec<Entry> = entries.collect();
    let tasks = lessons.iter().enumerate().flat_map(|(wanted, lesson)| {
        let tasks = lesson.tasks.iter();
        tasks.map(move |text| Task { text, wanted })
    });
    let tasks: Vec<Task<'_>> = tasks.collect();
    let recall = recall(&entries, &tasks);
    let gate = Tally::of(&entries, &tasks, others).gate();
    println!(
        "{name:30} {:7} {:6} {recall} {gate}",
        entries.len(),
        tasks.len()
    );
    let is_good = recall.is_as_good_as(&LEAST, 0.0);
    worse.unless(is_good, || format!("the ranking in {name}"));
    let is_good = gate.is_as_good_as(least, 0.0);
    worse.unless(is_good, || format!("the gate in {name}"));
}

fn main() {
    let mut worse = Worse::default();
    println!(
        "in per cent                                       recall at 1, 5    right / given / misled"
    );
    println!("written down here              entries  tasks");
    for (name, lessons, others, least) in [
        ("English", ENGLISH, OTHERS_ENGLISH, LEAST_ENGLISH),
        ("Chinese", CHINESE, OTHERS_CHINESE, LEAST_CHINESE),
    ] {
        written_down(name, &lessons, &others, &least, &mut worse);
    }
    if let Some(set) = std::env::var_os("AIDEN_RETRIEVAL_SET") {
        public_set(Path::new(&set), &mut worse);
    }
    assert!(worse.0.is_empty(), "became worse: {}", worse.0.join(", "));
}

const fn lesson(
    title: &'static str,
    keywords: &'static [&'static str],
    content: &'static str,
    tasks: [&'static str; 3],
) -> Lesson {
    Lesson {
        title,
        keywords,
        content,
        tasks,
    }
}

const ENGLISH: [Lesson; 12] = [
    lesson(
        "Join a hotel's wireless network",
        &["wifi", "hotel", "login page"],
        "- Open the browser after joining, so that the login page appears\n\
         - Enter the room number and the surname as they stand on the booking\n\
         - Forget the network and join again if no page comes up",
        [
            "Connect the tablet to the hotel wifi",
            "The login page of the wireless network does not come up",
            "Could you please get me online here? I need the hotel's wifi",
        ],
    ),
    lesson(
        "Compress photos before they are uploaded",
        &["photos", "upload", "compress"],
        "- Scale photos to 2048 pixels on the longer side\n\
         - Keep the original in the album\n\
         - Upload over wifi only, unless told otherwise",
        [
            "Upload the photos of yesterday's trip to the shared album",
            "Make these pictures smaller and compress them",
            "I would like to send 40 photos to my sister, please compress them first",
        ],
    ),
    lesson(
        "Weekly status report",
        &["weekly report", "risks"],
        "- List the risks before the progress\n\
         - Keep the report to one page\n\
         - Name one owner for each open action",
        [
            "Write the weekly report for our team",
            "Draft a status report about the migration",
            "Can you help me list the risks for this week's report?",
        ],
    ),
    lesson(
        "Pay bills in the banking app",
        &["payment", "bill", "bank"],
        "- Show amount and payee, and wait for a confirmation before paying\n\
         - Never store a card number\n\
         - Take a screenshot of the receipt",
        [
            "Pay the electricity bill",
            "Transfer the rent to the landlord's bank account",
            "Please make the payment for the water bill of March",
        ],
    ),
    lesson(
        "Review code for a pull request",
        &["code review", "pull request"],
        "- Read the tests first\n\
         - Point at the line that a remark is about\n\
         - Tell apart what must change from what is a matter of taste",
        [
            "Review pull request 1234",
            "Do a code review of the parser changes",
            "Could you look through this pull request and comment on the tests?",
        ],
    ),
    lesson(
        "Scrape tables from web pages",
        &["html tables", "scraping", "csv"],
        "- Take the header row as column names\n\
         - Merge cells that span several columns\n\
         - Save as CSV with UTF-8",
        [
            "Extract the table of exchange rates from this web page",
            "Scrape the HTML tables and save them as csv",
            "I want the medal table on that page as a CSV file",
        ],
    ),
    lesson(
        "Back up the phone before an update",
        &["backup", "firmware update"],
        "- Check that 20 % of the storage is free\n\
         - Verify the backup by its checksum\n\
         - Do not start the update below half a battery",
        [
            "Update the firmware of the phone",
            "Make a backup of my phone",
            "Please back the phone up and install the update",
        ],
    ),
    lesson(
        "Plan meetings across time zones",
        &["meeting", "calendar", "time zone"],
        "- Tell each time with its zone\n\
         - Offer three slots within working hours of all\n\
         - Put the agenda into the invitation",
        [
            "Schedule a meeting with the colleagues in Tokyo and Berlin",
            "Put the review into everybody's calendar",
            "Hi, could you find a time for a call across three time zones?",
        ],
    ),
    lesson(
        "Translate user interface texts",
        &["translation", "strings"],
        "- Keep placeholders such as %s as they are\n\
         - Stay below the length of the original by a fifth\n\
         - Use the glossary of the product",
        [
            "Translate the strings of the settings screen into German",
            "Check the French translation for placeholders",
            "I need a translation of the menu texts",
        ],
    ),
    lesson(
        "Order food for delivery",
        &["food", "delivery", "restaurant"],
        "- Ask about allergies once and remember them\n\
         - Compare the delivery fee before the order\n\
         - Choose contactless delivery at night",
        [
            "Order a pizza for delivery at eight",
            "Which restaurant delivers food at night?",
            "Would you please order dinner from the Thai restaurant?",
        ],
    ),
    lesson(
        "Retry calls to an API when its rate is limited",
        &["rate limit", "retry", "429"],
        "- Wait twice as long after each failure, starting at a second\n\
         - Obey the Retry-After header\n\
         - Give up after five attempts",
        [
            "The server answers 429, retry the call",
            "Fetch all pages of the API without running into the rate limit",
            "Help me handle errors of the API by retrying with a backoff",
        ],
    ),
    lesson(
        "Water the plants with the garden controller",
        &["irrigation", "garden", "valves"],
        "- Skip watering if rain is forecast\n\
         - Open one valve at a time\n\
         - Water before sunrise in summer",
        [
            "Water the garden tonight",
            "Set up the irrigation for next week",
            "Could you open the valves of the greenhouse for ten minutes?",
        ],
    ),
];

const OTHERS_ENGLISH: [&str; 16] = [
    "Play some jazz music in the kitchen",
    "What is the weather like tomorrow?",
    "Tell me a joke",
    "Turn the lights off in the bedroom",
    "Could you please help me with my homework about the French revolution?",
    "Book a flight to Lisbon",
    "How tall is Mount Everest?",
    "Wake me at six",
    "Find the shortest way to the railway station",
    "Read the news of today to me",
    "I would like to learn to play the guitar",
    "Set a timer for the eggs",
    "Who won the football match yesterday?",
    "Compose a poem about the sea",
    "Measure the noise of the fan",
    "Explain how a heat pump works",
];

const CHINESE: [Lesson; 12] = [
    lesson(
        "周报写作规范",
        &["周报", "风险"],
        "- 每次都要先列风险\n- 周报不要超过一页\n- 每个待办写明负责人",
        [
            "写一份本周的周报",
            "把上周的工作整理成周报",
            "麻烦帮我写周报，先写风险",
        ],
    ),
    lesson(
        "界面操作前先截图",
        &["截图", "界面"],
        "- 操作前先截图\n- 截图后描述看到的内容再点击\n- 页面没加载完不要点击",
        [
            "打开设置界面，关闭蓝牙",
            "截图看看现在的页面",
            "请帮我在界面上点击登录按钮",
        ],
    ),
    lesson(
        "安全检查流程",
        &["安全检查", "验证"],
        "- 每次都要先做安全检查\n- 不要跳过验证\n- 检查后必须记录结果",
        [
            "请做安全检查",
            "检查一下设备的安全状态",
            "跳过验证会有什么风险",
        ],
    ),
    lesson(
        "连接酒店无线网络",
        &["无线网络", "酒店", "登录页"],
        "- 连上以后打开浏览器，等登录页出现\n- 房号和姓名按预订单填写\n- 登录页不出现就忘记网络再连一次",
        [
            "连接酒店的无线网络",
            "登录页一直不出现",
            "我想用酒店的网络上网，帮我连一下",
        ],
    ),
    lesson(
        "照片上传前先压缩",
        &["照片", "压缩", "上传"],
        "- 长边缩到2048像素\n- 原图留在相册\n- 只用无线网络上传",
        [
            "把昨天的照片上传到共享相册",
            "压缩这些图片",
            "请把四十张照片发给妈妈，先压缩",
        ],
    ),
    lesson(
        "生活缴费要先确认",
        &["缴费", "付款", "账单"],
        "- 付款前显示金额和收款方并等待确认\n- 不保存银行卡号\n- 付款后保存电子凭证",
        [
            "交一下这个月的电费账单",
            "给房东付款，房租三千元",
            "麻烦你帮我完成水费缴费",
        ],
    ),
    lesson(
        "代码评审要点",
        &["代码评审", "合并请求"],
        "- 先看测试\n- 意见要指到具体行\n- 区分必须修改和个人偏好",
        [
            "评审这个合并请求",
            "对解析器的修改做代码评审",
            "能不能帮我看看这段代码的测试写得怎么样",
        ],
    ),
    lesson(
        "升级前备份手机",
        &["备份", "系统升级"],
        "- 确认剩余空间不少于两成\n- 用校验和验证备份\n- 电量低于一半不要升级",
        ["给手机做系统升级", "备份我的手机", "请先备份再安装新系统"],
    ),
    lesson(
        "跨时区安排会议",
        &["会议", "日程", "时区"],
        "- 时间都要写明时区\n- 给出三个大家都在上班的时段\n- 邀请里附上议程",
        [
            "和东京、柏林的同事约一个会议",
            "把评审会加到大家的日程里",
            "我需要安排一次跨时区的电话会议",
        ],
    ),
    lesson(
        "界面文案翻译",
        &["翻译", "文案"],
        "- 占位符保持原样\n- 译文长度不超过原文的八成\n- 使用产品术语表",
        [
            "把设置页的文案翻译成英文",
            "检查法语翻译里的占位符",
            "帮我翻译这些菜单文案",
        ],
    ),
    lesson(
        "点外卖的习惯",
        &["外卖", "餐厅", "配送"],
        "- 先问忌口并记住\n- 下单前比较配送费\n- 夜里选择无接触配送",
        [
            "点一份外卖，八点送到",
            "哪家餐厅晚上还配送",
            "麻烦给我点那家川菜餐厅的外卖，谢谢",
        ],
    ),
    lesson(
        "花园浇水",
        &["浇水", "灌溉", "阀门"],
        "- 预报有雨就不浇水\n- 一次只开一个阀门\n- 夏天在日出前浇水",
        [
            "今晚给花园浇水",
            "设置下周的灌溉计划",
            "请把温室的阀门打开十分钟",
        ],
    ),
];

const OTHERS_CHINESE: [&str; 16] = [
    "今天天气怎么样",
    "播放一首歌",
    "讲个笑话",
    "把卧室的灯关掉",
    "能不能帮我做历史作业",
    "订一张去上海的机票",
    "珠穆朗玛峰有多高",
    "明早六点叫我起床",
    "去火车站怎么走最近",
    "读一下今天的新闻",
    "我想学弹吉他",
    "煮鸡蛋定时八分钟",
    "昨天的足球比赛谁赢了",
    "写一首关于大海的诗",
    "量一下风扇的噪音",
    "解释热泵的原理",
];
