//! The calendar: events in local time, kept in memory, and the arithmetic of dates.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::demo::date::{Date, DateTime, MINUTES_PER_DAY, minute_of_day};
use crate::demo::server::Server;
use crate::demo::tool::{Answer, Effect, Tool};

pub struct Calendar {
    events: BTreeMap<u32, Event>,
    last_id: u32,
}

struct Event {
    title: String,
    start: DateTime,
    end: DateTime,
    calendar: Label,
    location: Option<String>,
    attendees: BTreeSet<String>,
}

pub fn server() -> Server<Calendar> {
    use Effect::{Adds, Reads, Replaces};
    Server {
        name: "calendar",
        instructions: "A calendar in local time without time zones. Look for free time before you create an event.",
        tools: vec![
            Tool::new("create_event", "Create an event", Adds, create_event),
            Tool::new("get_event", "Read an event", Reads, get_event),
            Tool::new("list_events", "List events", Reads, list_events),
            Tool::new("find_free_slot", "Find free time", Reads, find_free_slot),
            Tool::new("move_event", "Move an event", Replaces, move_event),
            Tool::new(
                "update_attendees",
                "Change attendees",
                Replaces,
                update_attendees,
            ),
            Tool::new("cancel_event", "Cancel an event", Replaces, cancel_event),
            Tool::new("add_to_date", "Add to a date", Reads, add_to_date),
            Tool::new("count_days", "Count days", Reads, count_days),
        ],
        state: Calendar::with_examples(),
    }
}

/// Creates an event in the user's calendar, once or repeated, and returns the ids of what was created.
/// Times are local times without a time zone. The call is refused when it would overlap another event
/// of the same calendar, unless overlaps are allowed in so many words; use find_free_slot to find a
/// time at which everybody is free.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateEvent {
    /// What the event is called, for example "Meeting with Ana".
    #[schemars(length(min = 1, max = 200))]
    title: String,
    /// When it begins.
    start: DateTime,
    /// How long it takes, in minutes.
    #[serde(default = "an_hour")]
    #[schemars(range(min = 1, max = 10080))]
    duration_minutes: i64,
    /// Which of the user's calendars the event belongs to.
    #[serde(default)]
    calendar: Label,
    /// Room, address or link where people meet.
    #[serde(default)]
    location: Option<String>,
    /// E-mail addresses of the people to invite.
    #[serde(default)]
    attendees: Vec<String>,
    /// How the event is repeated. Left out, it takes place once.
    #[serde(default)]
    recurrence: Option<Recurrence>,
    /// Whether the event may overlap another one of the same calendar.
    #[serde(default)]
    allow_overlap: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Label {
    Work,
    #[default]
    Personal,
    Family,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Recurrence {
    /// What is between two occurrences.
    frequency: Frequency,
    /// Number of days, weeks or months between two occurrences: 2 with "weekly" is every other week.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 52))]
    interval: i64,
    /// Number of occurrences in all, the first one included.
    #[schemars(range(min = 2, max = 100))]
    count: i64,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Frequency {
    Daily,
    Weekly,
    Monthly,
}

fn an_hour() -> i64 {
    60
}

fn once() -> i64 {
    1
}

fn create_event(calendar: &mut Calendar, arguments: CreateEvent) -> Result<Answer, String> {
    if arguments.title.trim().is_empty() {
        return Err("`title` is blank".into());
    }
    let duration = within("duration_minutes", arguments.duration_minutes, 1, 10_080)?;
    let attendees = addresses(&arguments.attendees)?;
    let mut events = Vec::new();
    for start in occurrences(arguments.start, arguments.recurrence.as_ref())? {
        let event = Event {
            title: arguments.title.trim().to_owned(),
            start,
            end: start.plus_minutes(duration).ok_or_else(out_of_range)?,
            calendar: arguments.calendar,
            location: arguments.location.clone(),
            attendees: attendees.clone(),
        };
        if !arguments.allow_overlap {
            calendar.refuse_overlap(&event, None)?;
        }
        events.push(event);
    }
    let ids: Vec<u32> = events
        .into_iter()
        .map(|event| calendar.add(event))
        .collect();
    let lines: Vec<String> = ids
        .iter()
        .filter_map(|id| Some(calendar.events.get(id)?.line(*id)))
        .collect();
    Ok(Answer::text(lines.join("\n")))
}

fn occurrences(first: DateTime, recurrence: Option<&Recurrence>) -> Result<Vec<DateTime>, String> {
    let Some(recurrence) = recurrence else {
        return Ok(vec![first]);
    };
    let interval = within("recurrence.interval", recurrence.interval, 1, 52)?;
    let count = within("recurrence.count", recurrence.count, 2, 100)?;
    let date = first.date();
    let minute = first.0 - date.at(0).0;
    let starts = (0..count).map(|nth| {
        let date = match recurrence.frequency {
            Frequency::Daily => date.plus_days(nth * interval),
            Frequency::Weekly => date.plus_days(7 * nth * interval),
            Frequency::Monthly => date.plus_months(nth * interval),
        };
        Ok(date.ok_or_else(out_of_range)?.at(minute))
    });
    starts.collect()
}

/// Returns everything that is known about one event: title, start, end, calendar, location and the
/// people invited. Use list_events first if you do not know the id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetEvent {
    /// Id of the event, as returned by create_event or list_events.
    event_id: u32,
}

fn get_event(calendar: &mut Calendar, arguments: GetEvent) -> Result<Answer, String> {
    let event = calendar.get(arguments.event_id)?;
    Ok(Answer::structured(event.value(arguments.event_id)))
}

/// Lists the events that touch a range of days, in the order in which they begin. Use this to answer
/// questions such as "what do I have on Tuesday" or to find the id of an event that has to be moved
/// or cancelled.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListEvents {
    /// First day of the range.
    from: Date,
    /// Last day of the range, itself included. Left out, only the first day is listed.
    #[serde(default)]
    to: Option<Date>,
    /// Only events of these calendars. An empty list means all of them.
    #[serde(default)]
    calendars: Vec<Label>,
    /// Only events whose title, location or attendees hold this text, in whichever case.
    #[serde(default)]
    text: String,
}

fn list_events(calendar: &mut Calendar, arguments: ListEvents) -> Result<Answer, String> {
    let to = arguments.to.unwrap_or(arguments.from);
    if to < arguments.from {
        return Err(format!("`to` ({to}) is before `from` ({})", arguments.from));
    }
    let (begin, end) = (arguments.from.at(0), to.at(MINUTES_PER_DAY));
    let text = arguments.text.to_lowercase();
    let mut found: Vec<_> = calendar
        .events
        .iter()
        .filter(|(_, event)| event.start < end && begin < event.end)
        .filter(|(_, event)| {
            arguments.calendars.is_empty() || arguments.calendars.contains(&event.calendar)
        })
        .filter(|(_, event)| event.holds(&text))
        .collect();
    found.sort_by_key(|(_, event)| event.start);
    if found.is_empty() {
        return Ok(Answer::text("no events"));
    }
    let lines: Vec<_> = found.iter().map(|(id, event)| event.line(**id)).collect();
    Ok(Answer::text(lines.join("\n")))
}

/// Finds times at which nothing is in the calendar, long enough for a meeting, within working hours
/// and within a range of days. Returns the earliest slots first. Use this before create_event when
/// the user asks for "some time next week" rather than a certain time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindFreeSlot {
    /// How long the slot has to be, in minutes.
    #[schemars(range(min = 5, max = 1440))]
    duration_minutes: i64,
    /// First day to look at.
    from: Date,
    /// Last day to look at, itself included. At most 62 days after the first one.
    to: Date,
    /// The part of each day that comes into question.
    #[serde(default)]
    working_hours: WorkingHours,
    /// Whether Saturdays and Sundays come into question.
    #[serde(default)]
    include_weekends: bool,
    /// Minutes to keep free before and after every other event, to get from one to the next.
    #[serde(default)]
    #[schemars(range(min = 0, max = 240))]
    buffer_minutes: i64,
    /// Most slots to return.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 20))]
    limit: usize,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorkingHours {
    /// When the day begins, for example "09:00".
    #[schemars(regex(pattern = r"^\d{2}:\d{2}$"))]
    start: String,
    /// When the day ends, for example "17:00".
    #[schemars(regex(pattern = r"^\d{2}:\d{2}$"))]
    end: String,
}

impl Default for WorkingHours {
    fn default() -> WorkingHours {
        WorkingHours {
            start: "09:00".into(),
            end: "17:00".into(),
        }
    }
}

fn three() -> usize {
    3
}

fn find_free_slot(calendar: &mut Calendar, arguments: FindFreeSlot) -> Result<Answer, String> {
    let duration = within("duration_minutes", arguments.duration_minutes, 5, 1440)?;
    let buffer = within("buffer_minutes", arguments.buffer_minutes, 0, 240)?;
    let days = within("to", arguments.from.days_until(arguments.to), 0, 62)
        .map_err(|_| "`to` has to be the day of `from` or up to 62 days after it".to_owned())?;
    let hours = &arguments.working_hours;
    let (Some(opens), Some(closes)) = (minute_of_day(&hours.start), minute_of_day(&hours.end))
    else {
        return Err("`working_hours` are times such as 09:00".into());
    };
    let mut slots = Vec::new();
    for date in (0..=days).filter_map(|day| arguments.from.plus_days(day)) {
        if date.is_weekend() && !arguments.include_weekends {
            continue;
        }
        let free = calendar.free(date.at(opens), date.at(closes), buffer);
        slots.extend(
            free.into_iter()
                .filter(|(start, end)| end.0 - start.0 >= duration),
        );
    }
    slots.truncate(arguments.limit.clamp(1, 20));
    if slots.is_empty() {
        return Ok(Answer::text("no slot is long enough"));
    }
    let lines: Vec<String> = slots
        .into_iter()
        .map(|(start, end)| {
            let date = start.date();
            format!(
                "{} {date} {} to {}",
                date.weekday_name(),
                start.clock(),
                end.clock()
            )
        })
        .collect();
    Ok(Answer::text(lines.join("\n")))
}

/// Moves an event to another time and keeps everything else about it. Give either a new start or a
/// shift in minutes. The call is refused when the new time overlaps another event of the same
/// calendar, unless overlaps are allowed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MoveEvent {
    /// Id of the event to move.
    event_id: u32,
    /// When it begins from now on.
    #[serde(default)]
    new_start: Option<DateTime>,
    /// Minutes by which it is put off, or brought forward if negative, for example 30 or -15.
    #[serde(default)]
    shift_minutes: Option<i64>,
    /// New length in minutes. Left out, it takes as long as before.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10080))]
    duration_minutes: Option<i64>,
    /// Whether the event may overlap another one of the same calendar.
    #[serde(default)]
    allow_overlap: bool,
}

fn move_event(calendar: &mut Calendar, arguments: MoveEvent) -> Result<Answer, String> {
    let id = arguments.event_id;
    let event = calendar.get(id)?;
    let start = match (arguments.new_start, arguments.shift_minutes) {
        (Some(start), None) => start,
        (None, Some(minutes)) => event.start.plus_minutes(minutes).ok_or_else(out_of_range)?,
        _ => return Err("give either `new_start` or `shift_minutes`".into()),
    };
    let duration = match arguments.duration_minutes {
        Some(duration) => within("duration_minutes", duration, 1, 10_080)?,
        None => event.end.0 - event.start.0,
    };
    let moved = Event {
        title: event.title.clone(),
        start,
        end: start.plus_minutes(duration).ok_or_else(out_of_range)?,
        calendar: event.calendar,
        location: event.location.clone(),
        attendees: event.attendees.clone(),
    };
    if !arguments.allow_overlap {
        calendar.refuse_overlap(&moved, Some(id))?;
    }
    let line = moved.line(id);
    calendar.events.insert(id, moved);
    Ok(Answer::text(line))
}

/// Invites people to an event or takes them off its list, and returns everybody who is invited
/// afterwards. People who are invited already, or were not, are no error.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateAttendees {
    /// Id of the event.
    event_id: u32,
    /// E-mail addresses of the people to invite.
    #[serde(default)]
    add: Vec<String>,
    /// E-mail addresses of the people to take off the list.
    #[serde(default)]
    remove: Vec<String>,
}

fn update_attendees(calendar: &mut Calendar, arguments: UpdateAttendees) -> Result<Answer, String> {
    let (add, remove) = (addresses(&arguments.add)?, addresses(&arguments.remove)?);
    let id = arguments.event_id;
    let event = calendar.events.get_mut(&id).ok_or_else(|| unknown(id))?;
    event.attendees.extend(add);
    event
        .attendees
        .retain(|attendee| !remove.contains(attendee));
    Ok(Answer::structured(
        json!({"event_id": id, "attendees": event.attendees}),
    ))
}

/// Cancels an event and removes it from the calendar. This cannot be undone. The other occurrences of
/// a repeated event stay; cancel each by its own id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelEvent {
    /// Id of the event to cancel.
    event_id: u32,
    /// Why it is cancelled, in a sentence that the people invited will read.
    #[serde(default)]
    reason: Option<String>,
}

fn cancel_event(calendar: &mut Calendar, arguments: CancelEvent) -> Result<Answer, String> {
    let id = arguments.event_id;
    let event = calendar.events.remove(&id).ok_or_else(|| unknown(id))?;
    let mut text = format!("cancelled {}", event.line(id));
    if let Some(reason) = arguments.reason {
        text.push_str(&format!(" ({reason})"));
    }
    Ok(Answer::text(text))
}

/// Adds days, weeks, months or working days to a date, or subtracts them, and returns the date and its
/// day of the week. Use this instead of reckoning with dates yourself: months have different lengths,
/// and the 31st of January plus one month is the last day of February.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddToDate {
    /// The date to start from.
    date: Date,
    /// How many to add; negative to go back.
    #[schemars(range(min = -36500, max = 36500))]
    amount: i64,
    /// What is counted. Working days are Monday to Friday; public holidays are not known.
    unit: DateUnit,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DateUnit {
    Days,
    WorkingDays,
    Weeks,
    Months,
    Years,
}

fn add_to_date(_: &mut Calendar, arguments: AddToDate) -> Result<Answer, String> {
    let amount = within("amount", arguments.amount, -36_500, 36_500)?;
    let date = match arguments.unit {
        DateUnit::Days => arguments.date.plus_days(amount),
        DateUnit::Weeks => arguments.date.plus_days(7 * amount),
        DateUnit::Months => arguments.date.plus_months(amount),
        DateUnit::Years => arguments.date.plus_months(12 * amount),
        DateUnit::WorkingDays => plus_working_days(arguments.date, amount),
    };
    let date = date.ok_or_else(out_of_range)?;
    Ok(Answer::structured(
        json!({"date": date.to_string(), "weekday": date.weekday_name()}),
    ))
}

fn plus_working_days(date: Date, amount: i64) -> Option<Date> {
    let mut date = date;
    let mut left = amount.abs();
    while left > 0 {
        date = date.plus_days(amount.signum())?;
        left -= i64::from(!date.is_weekend());
    }
    Some(date)
}

/// Counts the days between two dates, in all and as working days, Monday to Friday. The first day is
/// not counted, the last one is, so that from Monday to Tuesday is one day. Public holidays are not
/// known.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CountDays {
    /// The date to start from.
    from: Date,
    /// The date to count to. Before the first one, the counts are negative.
    to: Date,
}

fn count_days(_: &mut Calendar, arguments: CountDays) -> Result<Answer, String> {
    let (from, to) = (arguments.from, arguments.to);
    let days = from.days_until(to);
    let (first, last) = (from.min(to), from.max(to));
    let weeks = days.abs() / 7;
    let rest = (7 * weeks + 1..=first.days_until(last))
        .filter_map(|day| first.plus_days(day))
        .filter(|date| !date.is_weekend())
        .count();
    let working_days = (5 * weeks + rest as i64) * days.signum();
    Ok(Answer::structured(
        json!({"days": days, "working_days": working_days}),
    ))
}

impl Calendar {
    fn with_examples() -> Calendar {
        let mut calendar = Calendar {
            events: BTreeMap::new(),
            last_id: 0,
        };
        let examples = [
            ("Stand-up", "2026-03-02T09:30", 15, Label::Work),
            ("Planning", "2026-03-02T10:00", 90, Label::Work),
            ("Dentist", "2026-03-03T08:30", 45, Label::Personal),
            ("Review with Ana", "2026-03-03T14:00", 60, Label::Work),
            ("Grandma's birthday", "2026-03-07T15:00", 240, Label::Family),
        ];
        for (title, start, minutes, label) in examples {
            let start: Option<DateTime> = start.parse().ok();
            let times = start.and_then(|start| Some((start, start.plus_minutes(minutes)?)));
            calendar.last_id += 1;
            if let Some((start, end)) = times {
                let event = Event {
                    title: title.into(),
                    start,
                    end,
                    calendar: label,
                    location: None,
                    attendees: BTreeSet::new(),
                };
                calendar.events.insert(calendar.last_id, event);
            }
        }
        calendar
    }

    fn add(&mut self, event: Event) -> u32 {
        self.last_id += 1;
        self.events.insert(self.last_id, event);
        self.last_id
    }

    fn get(&self, id: u32) -> Result<&Event, String> {
        self.events.get(&id).ok_or_else(|| unknown(id))
    }

    fn refuse_overlap(&self, event: &Event, itself: Option<u32>) -> Result<(), String> {
        let other = self.events.iter().find(|(id, other)| {
            Some(**id) != itself
                && other.calendar == event.calendar
                && other.start < event.end
                && event.start < other.end
        });
        match other {
            None => Ok(()),
            Some((id, other)) => Err(format!(
                "that would overlap {}: set `allow_overlap` or take another time",
                other.line(*id)
            )),
        }
    }

    /// The gaps between events, in order.
    fn free(&self, opens: DateTime, closes: DateTime, buffer: i64) -> Vec<(DateTime, DateTime)> {
        let mut busy: Vec<_> = self
            .events
            .values()
            .map(|event| {
                (
                    DateTime(event.start.0 - buffer),
                    DateTime(event.end.0 + buffer),
                )
            })
            .filter(|(start, end)| *start < closes && opens < *end)
            .collect();
        busy.sort();
        let mut free = Vec::new();
        let mut from = opens;
        for (start, end) in busy {
            if from < start {
                free.push((from, start));
            }
            from = from.max(end);
        }
        if from < closes {
            free.push((from, closes));
        }
        free
    }
}

impl Event {
    fn line(&self, id: u32) -> String {
        let date = self.start.date();
        let weekday = date.weekday_name();
        let (start, end) = (self.start.clock(), self.end.clock());
        format!(
            "event {id}: {}, {weekday} {date} {start} to {end}",
            self.title
        )
    }

    fn value(&self, id: u32) -> Value {
        json!({
            "event_id": id,
            "title": self.title,
            "start": self.start.to_string(),
            "end": self.end.to_string(),
            "calendar": self.calendar,
            "location": self.location,
            "attendees": self.attendees,
        })
    }

    fn holds(&self, lower_case: &str) -> bool {
        let texts = [&self.title].into_iter();
        let mut texts = texts.chain(&self.location).chain(&self.attendees);
        texts.any(|text| text.to_lowercase().contains(lower_case))
    }
}

fn addresses(addresses: &[String]) -> Result<BTreeSet<String>, String> {
    let addresses = addresses.iter().map(|address| {
        let plain = address.trim().to_lowercase();
        match plain.split_once('@') {
            Some((name, host)) if !name.is_empty() && host.contains('.') => Ok(plain),
            _ => Err(format!("`{address}` is not an e-mail address")),
        }
    });
    addresses.collect()
}

fn unknown(id: u32) -> String {
    format!("there is no event {id}: list_events returns the ids that exist")
}

fn out_of_range() -> String {
    "that is beyond the years 0 to 9999".into()
}

fn within(name: &str, value: i64, min: i64, max: i64) -> Result<i64, String> {
    if !(min..=max).contains(&value) {
        return Err(format!("`{name}` has to be {min} to {max}, not {value}"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::demo::tool::call;

    fn log(calls: &[(&str, Value)]) -> String {
        let mut server = server();
        let answers = calls.iter().map(|(name, arguments)| {
            format!("{name}: {}\n", call(&mut server, name, arguments.clone()))
        });
        answers.collect()
    }

    #[test]
    fn keeps_events_apart() {
        let log = log(&[
            (
                "create_event",
                json!({"title": "Lunch", "start": "2026-03-02T12:00", "attendees": ["Ana@example.org"]}),
            ),
            (
                "create_event",
                json!({"title": "Call", "start": "2026-03-02T10:30", "calendar": "work"}),
            ),
            ("move_event", json!({"event_id": 3, "shift_minutes": 60})),
            (
                "move_event",
                json!({"event_id": 2, "new_start": "2026-03-02T09:40"}),
            ),
            ("move_event", json!({"event_id": 2})),
            (
                "update_attendees",
                json!({"event_id": 6, "add": ["bo@example.org"], "remove": ["ana@example.org"]}),
            ),
            ("get_event", json!({"event_id": 6})),
            (
                "list_events",
                json!({"from": "2026-03-02", "to": "2026-03-03", "calendars": ["personal"]}),
            ),
            (
                "cancel_event",
                json!({"event_id": 6, "reason": "I am ill."}),
            ),
            ("get_event", json!({"event_id": 6})),
            (
                "update_attendees",
                json!({"event_id": 1, "add": ["nobody"]}),
            ),
        ]);
        expect![[r#"
            create_event: event 6: Lunch, Mon 2026-03-02 12:00 to 13:00
            create_event: error: that would overlap event 2: Planning, Mon 2026-03-02 10:00 to 11:30: set `allow_overlap` or take another time
            move_event: event 3: Dentist, Tue 2026-03-03 09:30 to 10:15
            move_event: error: that would overlap event 1: Stand-up, Mon 2026-03-02 09:30 to 09:45: set `allow_overlap` or take another time
            move_event: error: give either `new_start` or `shift_minutes`
            update_attendees: {"event_id":6,"attendees":["bo@example.org"]}
            get_event: {"event_id":6,"title":"Lunch","start":"2026-03-02T12:00","end":"2026-03-02T13:00","calendar":"personal","location":null,"attendees":["bo@example.org"]}
            list_events: event 6: Lunch, Mon 2026-03-02 12:00 to 13:00
            event 3: Dentist, Tue 2026-03-03 09:30 to 10:15
            cancel_event: cancelled event 6: Lunch, Mon 2026-03-02 12:00 to 13:00 (I am ill.)
            get_event: error: there is no event 6: list_events returns the ids that exist
            update_attendees: error: `nobody` is not an e-mail address
        "#]].assert_eq(&log);
    }

    #[test]
    fn repeats_events() {
        let monthly = json!({"frequency": "monthly", "count": 3});
        let log = log(&[
            (
                "create_event",
                json!({"title": "Rent", "start": "2026-01-31T08:00", "recurrence": monthly}),
            ),
            (
                "create_event",
                json!({"title": "Old", "start": "9999-12-31T23:30"}),
            ),
        ]);
        expect![[r#"
            create_event: event 6: Rent, Sat 2026-01-31 08:00 to 09:00
            event 7: Rent, Sat 2026-02-28 08:00 to 09:00
            event 8: Rent, Tue 2026-03-31 08:00 to 09:00
            create_event: error: that is beyond the years 0 to 9999
        "#]]
        .assert_eq(&log);
    }

    #[test]
    fn finds_the_gaps() {
        let log = log(&[
            (
                "find_free_slot",
                json!({"duration_minutes": 60, "from": "2026-03-02", "to": "2026-03-03", "buffer_minutes": 15}),
            ),
            (
                "find_free_slot",
                json!({"duration_minutes": 600, "from": "2026-03-02", "to": "2026-03-08"}),
            ),
            (
                "find_free_slot",
                json!({"duration_minutes": 60, "from": "2026-03-02", "to": "2026-03-01"}),
            ),
        ]);
        expect![[r#"
            find_free_slot: Mon 2026-03-02 11:45 to 17:00
            Tue 2026-03-03 09:30 to 13:45
            Tue 2026-03-03 15:15 to 17:00
            find_free_slot: no slot is long enough
            find_free_slot: error: `to` has to be the day of `from` or up to 62 days after it
        "#]]
        .assert_eq(&log);
    }

    #[test]
    fn reckons_with_dates() {
        let log = log(&[
            (
                "add_to_date",
                json!({"date": "2026-03-06", "amount": 1, "unit": "working_days"}),
            ),
            (
                "add_to_date",
                json!({"date": "2026-03-02", "amount": -6, "unit": "working_days"}),
            ),
            (
                "add_to_date",
                json!({"date": "2024-02-29", "amount": 1, "unit": "years"}),
            ),
            (
                "add_to_date",
                json!({"date": "0000-01-01", "amount": -1, "unit": "days"}),
            ),
            (
                "count_days",
                json!({"from": "2026-03-02", "to": "2026-03-16"}),
            ),
            (
                "count_days",
                json!({"from": "2026-03-07", "to": "2026-03-04"}),
            ),
            (
                "count_days",
                json!({"from": "2026-02-30", "to": "2026-03-04"}),
            ),
        ]);
        expect![[r#"
            add_to_date: {"date":"2026-03-09","weekday":"Mon"}
            add_to_date: {"date":"2026-02-20","weekday":"Fri"}
            add_to_date: {"date":"2025-02-28","weekday":"Fri"}
            add_to_date: error: that is beyond the years 0 to 9999
            count_days: {"days":14,"working_days":10}
            count_days: {"days":-3,"working_days":-2}
            count_days: error: invalid arguments for `count_days`: `2026-02-30` is not a date such as 2026-03-02
        "#]].assert_eq(&log);
    }
}
