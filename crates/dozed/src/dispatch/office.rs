//! `office.*`.

use doze_core::office::ProjectRecord;
use doze_engine::{NotedLearning, ProjectRequest};
use doze_protocol::office::{
    ForgetAnswer, ForgetParams, LearnedAnswer, LearnedParams, NotedAnswer, Pattern, PlanParams, Project,
    ProjectAnswer, ProjectParams, ReviewParams,
};
use doze_protocol::{Params, WireError, parse_params};
use serde_json::Value;

use super::{Dispatch, answer, told};

impl Dispatch {
    pub(super) fn office_review(&self, params: Params) -> Result<Value, WireError> {
        let params: ReviewParams = parse_params(params)?;
        let done = self.engine.office_review(&self.owner, params.verdict.as_deref(), &params.text);
        answer(&noted(done.map_err(told)?))
    }

    pub(super) fn office_plan(&self, params: Params) -> Result<Value, WireError> {
        let params: PlanParams = parse_params(params)?;
        answer(&noted(self.engine.office_plan(&self.owner, &params.text).map_err(told)?))
    }

    pub(super) fn office_project(&self, params: Params) -> Result<Value, WireError> {
        let params: ProjectParams = parse_params(params)?;
        let request = ProjectRequest {
            summary: params.summary,
            tech: params.tech,
            ratings: params.ratings,
            review_passed: params.review_passed.unwrap_or(true),
        };
        let (kept, redacted) = self.engine.office_project(&self.owner, &request).map_err(told)?;
        answer(&ProjectAnswer { project: kept.as_ref().map(project), redacted })
    }

    pub(super) fn office_learned(&self, params: Params) -> Result<Value, WireError> {
        let _: LearnedParams = parse_params(params)?;
        let learned = self.engine.learned(&self.owner).map_err(told)?;
        let patterns = learned.review_patterns.into_iter().map(|known| Pattern {
            pattern: known.pattern,
            count: known.count,
            last_seen: known.last_seen.to_string(),
        });
        answer(&LearnedAnswer {
            review_patterns: patterns.collect(),
            tech_preferences: learned.tech_preferences,
            projects: learned.projects.iter().map(project).collect(),
        })
    }

    pub(super) fn office_forget(&self, params: Params) -> Result<Value, WireError> {
        let params: ForgetParams = parse_params(params)?;
        let forgotten = self.engine.forget_learned(&self.owner, &params.text).map_err(told)?;
        answer(&ForgetAnswer { forgotten: forgotten as u64 })
    }
}

fn noted(done: NotedLearning) -> NotedAnswer {
    NotedAnswer {
        added: done.noted.added,
        known: done.noted.known,
        left_out: done.left_out,
        redacted: done.redacted,
    }
}

fn project(known: &ProjectRecord) -> Project {
    Project {
        summary: known.summary.clone(),
        tech: known.tech.clone(),
        completed_at: known.completed_at.to_string(),
        review_passed: known.review_passed,
        ratings: known.ratings.iter().cloned().collect(),
    }
}
