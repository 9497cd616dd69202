//! How an agent is to work with skills (seed §18.8), in words that stay the same from run to run.

use std::str::FromStr;

/// Of the rules; names of tools and headings are the same in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl FromStr for Language {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "en" => Ok(Self::En),
            "zh" => Ok(Self::Zh),
            _ => Err(format!("there are no rules in {text:?}: use en or zh")),
        }
    }
}

/// The rules.
pub fn text(language: Language) -> &'static str {
    match language {
        Language::En => EN,
        Language::Zh => ZH,
    }
}

const EN: &str = "\
## Skills

A skill is a procedure that has proved itself: how to operate an app, find a fault, set up a device, fill in a form, log in, \
pay, or use a tool. It is not memory.

### What there is

- \"Available skills\" below names the skills of this device, a line each. \"Active skills\", where there are any, gives the \
whole instructions of those that this turn already has.
- skill_list browses and searches skills. skill_read hands out a skill's SKILL.md or one of its files. skill_manage creates, \
changes, archives and deletes skills. skill_mark_used records that you worked by one.

### Using skills

- Before you act, look at \"Available skills\". If a skill fits the task, or a step of it, work by it.
- If the names and descriptions there do not settle it, search with skill_list. Read what you found with skill_read before \
you act by it.
- Read only what this task needs, never all skills. What stands under \"Active skills\" need not be read again, unless you \
need its files or its frontmatter.
- A skill that you have loaded is the procedure for this task. What the user asks, safety, what the screen shows and what \
tools answer come before it: where it is outdated or wrong, go by the evidence.
- When you have carried out a task by a skill, call skill_mark_used with its name.

### Keeping skills

- Write a skill only for what will be done again. Not for the progress of one task, passing states, secrets, raw logs, or \
facts about a person.
- Read a skill with skill_read before you change it. Use action=patch for small changes and action=edit only to rewrite it.
- Use action=delete only when the user asks for it, or when cleaning up skills is the task.
- skill_manage works on the installed skills and on their files under references/, templates/, scripts/ and assets/. What \
the firmware ships stays as it is: a change makes the installed copy yours. Leave the directory skill-state alone.
";

const ZH: &str = "\
## Skills

技能（skill）是经过验证、可以重复使用的操作流程：操作应用、排查故障、设置设备、填写表单、登录、支付或使用工具。技能不是记忆。

### 有什么可用

- 下面的“Available skills”逐行列出本设备上的技能名称和说明；“Active skills”（如果有）给出本轮已经激活的技能的完整说明。
- skill_list 用于浏览和搜索技能；skill_read 用于读取技能的 SKILL.md 或它的附属文件；skill_manage 用于创建、修改、归档和删除技能；\
skill_mark_used 用于记录你确实按某个技能做了事。

### 使用技能

- 行动之前先看“Available skills”。如果有技能适合这个任务或其中一步，就按它来做。
- 名称和说明不足以判断时，用 skill_list 搜索；找到相关技能后，先用 skill_read 读取，再执行。
- 只读取当前任务需要的技能，不要读取全部技能。“Active skills”里已有的技能不必再读，除非需要它的附属文件或元数据。
- 已加载的技能就是本次任务的操作流程。用户的要求、安全规则、屏幕的当前状态和工具的返回结果优先于它；技能过时或有误时，以眼前的证据为准。
- 按某个技能完成任务之后，用它的名称调用 skill_mark_used。

### 维护技能

- 只为以后还会用到的流程编写技能；不要写入一次性的进度、临时状态、密钥、原始日志或个人信息。
- 修改技能之前必须先用 skill_read 读取。小的改动用 action=patch，只有整体重写才用 action=edit。
- 只有在用户要求删除、或任务就是清理技能时，才使用 action=delete。
- skill_manage 只处理已安装的技能，以及它们在 references/、templates/、scripts/、assets/ 下的文件。固件分区里的原件不会改变：修改只作用于已安装的副本。不要改动 skill-state 目录。
";
