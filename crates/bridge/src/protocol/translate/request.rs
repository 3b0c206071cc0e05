//! A request of the responses wire as one of the chat wire.

use contract::Digest;
use serde_json::{Map, Value, json};

use super::input::Messages;
use super::{TranslateBodyError, TranslationPlan, not_carried};

/// Turns a judged request over; gives the body to send and the plan for the way back.
pub(crate) fn translate_request(body: &[u8]) -> Result<(Vec<u8>, TranslationPlan), TranslateBodyError> {
    let parsed: Result<Value, _> = serde_json::from_slice(body);
    let Ok(Value::Object(fields)) = parsed else { return not_carried("this body") };
    let mut draft = Draft {
        plan: TranslationPlan {
            seed: Digest::of_bytes(body).to_string()[..24].to_owned(),
            tools: json!([]),
            tool_choice: json!("auto"),
            parallel_tool_calls: json!(true),
            ..TranslationPlan::default()
        },
        chat: Map::new(),
        messages: Messages::default(),
        tools: Vec::new(),
    };
    if let Some(text) = fields.get("instructions").and_then(Value::as_str) {
        draft.messages.system(text);
    }
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        draft.field(name, value)?;
    }
    Ok(draft.finish())
}

struct Draft {
    plan: TranslationPlan,
    chat: Map<String, Value>,
    messages: Messages,
    tools: Vec<Value>,
}

impl Draft {
    fn field(&mut self, name: &str, value: &Value) -> Result<(), TranslateBodyError> {
        match name {
            // Taken before, or taken out before.
            "instructions" | "metadata" | "client_metadata" | "user" | "safety_identifier" => {}
            "model" | "temperature" | "top_p" => self.put(name, value.clone()),
            "parallel_tool_calls" => {
                self.plan.parallel_tool_calls = value.clone();
                self.put(name, value.clone());
            }
            "max_output_tokens" => self.put("max_tokens", value.clone()),
            "stream" => self.stream(value),
            "input" => self.input(value)?,
            "tools" => {
                self.plan.tools = value.clone();
                self.tools(value)?;
            }
            "tool_choice" => self.tool_choice(value)?,
            "reasoning" => self.reasoning(value)?,
            "text" => self.text(value)?,
            "include" => self.include(value)?,
            "store" if *value == json!(true) => self.plan.leave_out("store"),
            "store" => {}
            "prompt_cache_key" => self.plan.leave_out("prompt_cache_key"),
            "prompt_cache_retention" => self.plan.leave_out("prompt_cache_retention"),
            "service_tier" => self.plan.leave_out("service_tier"),
            "stream_options" => self.plan.leave_out("stream_options"),
            "background" if *value == json!(false) => {}
            "truncation" if *value == json!("disabled") => {}
            "top_logprobs" if *value == json!(0) => {}
            other => return not_carried(format_args!("the field {other}")),
        }
        Ok(())
    }

    fn put(&mut self, name: &str, value: Value) {
        self.chat.insert(name.to_owned(), value);
    }

    fn stream(&mut self, value: &Value) {
        self.put("stream", value.clone());
        if *value == json!(true) {
            self.put("stream_options", json!({"include_usage": true}));
        }
    }

    fn input(&mut self, value: &Value) -> Result<(), TranslateBodyError> {
        match value {
            Value::String(text) => self.messages.user(text),
            Value::Array(items) => {
                for item in items {
                    if item["type"] == "additional_tools" {
                        self.tools(&item["tools"])?;
                    } else {
                        self.messages.item(item, &mut self.plan)?;
                    }
                }
            }
            _ => return not_carried("this input"),
        }
        Ok(())
    }

    fn tools(&mut self, value: &Value) -> Result<(), TranslateBodyError> {
        for tool in value.as_array().into_iter().flatten() {
            let function = match tool["type"].as_str() {
                Some("function") => function(tool),
                Some("custom") => self.custom(tool),
                other => return not_carried(format_args!("a tool of type {}", other.unwrap_or("?"))),
            };
            self.tools.push(json!({"type": "function", "function": function}));
        }
        Ok(())
    }

    /// Free text becomes the one parameter of a function.
    fn custom(&mut self, tool: &Value) -> Value {
        let name = tool["name"].as_str().unwrap_or_default();
        self.plan.custom.insert(name.to_owned());
        let mut description = tool["description"].as_str().unwrap_or_default().to_owned();
        if let Some(definition) = tool["format"]["definition"].as_str() {
            self.plan.leave_out("tools.custom.format");
            let syntax = tool["format"]["syntax"].as_str().unwrap_or("grammar");
            description.push_str(&format!("\n\nThe input must follow this {syntax} definition:\n{definition}"));
        }
        json!({
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {"input": {"type": "string"}},
                "required": ["input"],
                "additionalProperties": false,
            },
        })
    }

    fn tool_choice(&mut self, value: &Value) -> Result<(), TranslateBodyError> {
        self.plan.tool_choice = value.clone();
        let choice = match (value, value["type"].as_str(), value["name"].as_str()) {
            (Value::String(_), ..) => value.clone(),
            (_, Some("function" | "custom"), Some(name)) => json!({"type": "function", "function": {"name": name}}),
            _ => return not_carried("this tool_choice"),
        };
        self.put("tool_choice", choice);
        Ok(())
    }

    fn reasoning(&mut self, value: &Value) -> Result<(), TranslateBodyError> {
        for (name, value) in value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            match name.as_str() {
                "effort" => self.put("reasoning_effort", value.clone()),
                "summary" | "generate_summary" => self.plan.leave_out("reasoning.summary"),
                other => return not_carried(format_args!("the field reasoning.{other}")),
            }
        }
        Ok(())
    }

    fn text(&mut self, value: &Value) -> Result<(), TranslateBodyError> {
        for (name, value) in value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            match (name.as_str(), value["type"].as_str()) {
                ("verbosity", _) => self.plan.leave_out("text.verbosity"),
                ("format", Some("text")) => {}
                ("format", Some("json_object")) => self.put("response_format", json!({"type": "json_object"})),
                ("format", Some("json_schema")) => {
                    let mut schema = value.clone();
                    schema.as_object_mut().map(|schema| schema.remove("type"));
                    self.put("response_format", json!({"type": "json_schema", "json_schema": schema}));
                }
                (other, _) => return not_carried(format_args!("the field text.{other}")),
            }
        }
        Ok(())
    }

    fn include(&mut self, value: &Value) -> Result<(), TranslateBodyError> {
        for entry in value.as_array().into_iter().flatten() {
            match entry.as_str() {
                Some("reasoning.encrypted_content") => self.plan.leave_out("include"),
                other => return not_carried(format_args!("{} in include", other.unwrap_or("?"))),
            }
        }
        Ok(())
    }

    fn finish(mut self) -> (Vec<u8>, TranslationPlan) {
        let messages = std::mem::take(&mut self.messages).finish();
        self.put("messages", Value::Array(messages));
        if !self.tools.is_empty() {
            let tools = std::mem::take(&mut self.tools);
            self.put("tools", Value::Array(tools));
        } else {
            // A choice among no tools is an error on this wire.
            self.chat.remove("tool_choice");
            self.chat.remove("parallel_tool_calls");
        }
        (Value::Object(self.chat).to_string().into_bytes(), self.plan)
    }
}

fn function(tool: &Value) -> Value {
    let kept = ["name", "description", "parameters", "strict"];
    let fields = kept.iter().filter_map(|name| Some(((*name).to_owned(), tool.get(*name)?.clone())));
    Value::Object(fields.filter(|(_, value)| !value.is_null()).collect())
}
