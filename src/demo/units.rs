//! The converter: quantities from one unit of measurement to another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::demo::server::Server;
use crate::demo::tool::{Answer, Effect, Tool};

pub fn server() -> Server<()> {
    use Effect::Reads;
    Server {
        name: "units",
        instructions: "Converts units of measurement exactly; there are no currencies, which would need a network.",
        tools: vec![
            Tool::new("convert", "Convert a quantity", Reads, convert),
            Tool::new(
                "convert_many",
                "Convert many quantities",
                Reads,
                convert_many,
            ),
            Tool::new(
                "compare_quantities",
                "Compare quantities",
                Reads,
                compare_quantities,
            ),
            Tool::new("list_units", "List units", Reads, list_units),
        ],
        state: (),
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Dimension {
    Length,
    Mass,
    Temperature,
    Volume,
    Area,
    Speed,
    Duration,
    Data,
    Energy,
    Pressure,
}

struct Unit {
    symbol: &'static str,
    names: &'static [&'static str],
    dimension: Dimension,
    /// Base units in one of this.
    factor: f64,
    /// Base units at zero of this; for temperatures.
    offset: f64,
}

const fn unit(
    dimension: Dimension,
    symbol: &'static str,
    names: &'static [&'static str],
    factor: f64,
) -> Unit {
    Unit {
        symbol,
        names,
        dimension,
        factor,
        offset: 0.0,
    }
}

use Dimension::*;

const UNITS: &[Unit] = &[
    unit(Length, "mm", &["millimetre", "millimeter"], 0.001),
    unit(Length, "cm", &["centimetre", "centimeter"], 0.01),
    unit(Length, "m", &["metre", "meter"], 1.0),
    unit(Length, "km", &["kilometre", "kilometer"], 1000.0),
    unit(Length, "in", &["inch", "inches"], 0.0254),
    unit(Length, "ft", &["foot", "feet"], 0.3048),
    unit(Length, "yd", &["yard"], 0.9144),
    unit(Length, "mi", &["mile"], 1609.344),
    unit(Length, "nmi", &["nautical mile"], 1852.0),
    unit(Mass, "mg", &["milligram"], 1e-6),
    unit(Mass, "g", &["gram"], 0.001),
    unit(Mass, "kg", &["kilogram"], 1.0),
    unit(Mass, "t", &["tonne"], 1000.0),
    unit(Mass, "oz", &["ounce"], 0.028_349_523_125),
    unit(Mass, "lb", &["pound", "lbs"], 0.453_592_37),
    unit(Mass, "st", &["stone"], 6.350_293_18),
    unit(Temperature, "K", &["kelvin"], 1.0),
    Unit {
        symbol: "°C",
        names: &["c", "celsius"],
        dimension: Temperature,
        factor: 1.0,
        offset: 273.15,
    },
    Unit {
        symbol: "°F",
        names: &["f", "fahrenheit"],
        dimension: Temperature,
        factor: 5.0 / 9.0,
        offset: 459.67 * 5.0 / 9.0,
    },
    unit(Volume, "ml", &["millilitre", "milliliter"], 1e-6),
    unit(Volume, "l", &["litre", "liter"], 0.001),
    unit(Volume, "m3", &["cubic metre", "cubic meter"], 1.0),
    unit(Volume, "tsp", &["teaspoon"], 4.928_921_593_75e-6),
    unit(Volume, "tbsp", &["tablespoon"], 1.478_676_478_125e-5),
    unit(Volume, "cup", &["cups"], 2.365_882_365e-4),
    unit(Volume, "pt", &["pint"], 4.731_764_73e-4),
    unit(Volume, "gal", &["gallon"], 3.785_411_784e-3),
    unit(Area, "m2", &["square metre", "square meter"], 1.0),
    unit(Area, "km2", &["square kilometre", "square kilometer"], 1e6),
    unit(Area, "ha", &["hectare"], 1e4),
    unit(Area, "ac", &["acre"], 4_046.856_422_4),
    unit(Area, "sqft", &["square foot", "square feet"], 0.092_903_04),
    unit(Speed, "m/s", &["metre per second", "meter per second"], 1.0),
    unit(Speed, "km/h", &["kph", "kmh"], 1000.0 / 3600.0),
    unit(Speed, "mph", &["mile per hour", "miles per hour"], 0.447_04),
    unit(Speed, "kn", &["knot"], 1852.0 / 3600.0),
    unit(Duration, "s", &["second", "sec"], 1.0),
    unit(Duration, "min", &["minute"], 60.0),
    unit(Duration, "h", &["hour", "hr"], 3600.0),
    unit(Duration, "d", &["day"], 86_400.0),
    unit(Duration, "wk", &["week"], 604_800.0),
    unit(Data, "B", &["byte"], 1.0),
    unit(Data, "kB", &["kilobyte"], 1e3),
    unit(Data, "MB", &["megabyte"], 1e6),
    unit(Data, "GB", &["gigabyte"], 1e9),
    unit(Data, "KiB", &["kibibyte"], 1024.0),
    unit(Data, "MiB", &["mebibyte"], 1_048_576.0),
    unit(Data, "GiB", &["gibibyte"], 1_073_741_824.0),
    unit(Energy, "J", &["joule"], 1.0),
    unit(Energy, "kJ", &["kilojoule"], 1000.0),
    unit(Energy, "kcal", &["kilocalorie", "calorie"], 4184.0),
    unit(Energy, "kWh", &["kilowatt hour", "kilowatt-hour"], 3.6e6),
    unit(Pressure, "Pa", &["pascal"], 1.0),
    unit(Pressure, "hPa", &["hectopascal", "millibar"], 100.0),
    unit(Pressure, "bar", &[], 1e5),
    unit(Pressure, "psi", &[], 6_894.757_293_168),
    unit(Pressure, "atm", &["atmosphere"], 101_325.0),
];

/// Converts a quantity from one unit of measurement to another of the same kind: lengths, masses,
/// temperatures, volumes, areas, speeds, durations, amounts of data, energies and pressures. Use this
/// instead of calculating yourself whenever the user mixes metric and imperial units. Currencies are
/// not supported.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Convert {
    /// The number to convert.
    value: f64,
    /// Unit of the number, as a symbol or an English name, for example "mi", "mile" or "°F".
    from: String,
    /// Unit to convert to, as a symbol or an English name, for example "km".
    to: String,
    /// Digits after the decimal point. Left out, the answer has up to 6 significant digits.
    #[serde(default)]
    #[schemars(range(min = 0, max = 12))]
    decimals: Option<usize>,
}

fn convert(_: &mut (), arguments: Convert) -> Result<Answer, String> {
    let (from, to) = (find(&arguments.from)?, find(&arguments.to)?);
    let value = converted(arguments.value, from, to)?;
    Ok(Answer::text(format!(
        "{} {} = {} {}",
        shown(arguments.value, None),
        from.symbol,
        shown(value, arguments.decimals),
        to.symbol
    )))
}

/// Converts a list of quantities to one unit in a single call, for example all the ingredients of a
/// recipe to grams or all the columns of a table to kilometres. What cannot be converted is reported
/// with its reason and does not keep the others from being converted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConvertMany {
    /// The quantities to convert, in the order in which the answers are wanted. At most 200.
    #[schemars(length(min = 1, max = 200))]
    quantities: Vec<Quantity>,
    /// Unit to convert all of them to.
    to: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Quantity {
    /// The number.
    value: f64,
    /// Its unit, as a symbol or an English name.
    unit: String,
}

fn convert_many(_: &mut (), arguments: ConvertMany) -> Result<Answer, String> {
    let to = find(&arguments.to)?;
    if !(1..=200).contains(&arguments.quantities.len()) {
        return Err("`quantities` has to hold 1 to 200 items".into());
    }
    let answers = arguments.quantities.iter().map(|quantity| {
        let value = find(&quantity.unit).and_then(|from| converted(quantity.value, from, to));
        match value {
            Ok(value) => json!({"value": rounded(value), "unit": to.symbol}),
            Err(error) => json!({"error": error}),
        }
    });
    let answers: Vec<_> = answers.collect();
    Ok(Answer::structured(json!({"quantities": answers})))
}

/// Compares two quantities that may be in different units and says which is more, by how much and by
/// which factor. Use this for questions such as "is 5 miles further than 8 kilometres".
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompareQuantities {
    /// The first quantity.
    left: Quantity,
    /// The second quantity.
    right: Quantity,
    /// Relative difference up to which the two count as equal, for example 0.01 for one percent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    tolerance: f64,
}

fn compare_quantities(_: &mut (), arguments: CompareQuantities) -> Result<Answer, String> {
    let (left, right) = (&arguments.left, &arguments.right);
    let (left_unit, right_unit) = (find(&left.unit)?, find(&right.unit)?);
    let other = converted(right.value, right_unit, left_unit)?;
    let difference = left.value - other;
    let is_equal = difference.abs() <= arguments.tolerance * left.value.abs().max(other.abs());
    let relation = match difference {
        _ if is_equal => "equal",
        difference if difference > 0.0 => "greater",
        _ => "less",
    };
    let mut answer = json!({
        "left_is": relation,
        "difference": rounded(difference),
        "unit": left_unit.symbol,
    });
    if other != 0.0 && left_unit.dimension != Temperature {
        answer["factor"] = rounded(left.value / other).into();
    }
    Ok(Answer::structured(answer))
}

/// Lists the units that the other tools understand, by kind of quantity, with their symbols and
/// names. Call this when a conversion was refused because a unit is not known.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListUnits {
    /// Only units of this kind. Left out, all units are listed.
    #[serde(default)]
    dimension: Option<Dimension>,
}

fn list_units(_: &mut (), arguments: ListUnits) -> Result<Answer, String> {
    let units: Vec<_> = UNITS
        .iter()
        .filter(|unit| {
            arguments
                .dimension
                .is_none_or(|wanted| wanted == unit.dimension)
        })
        .map(
            |unit| json!({"symbol": unit.symbol, "dimension": unit.dimension, "names": unit.names}),
        )
        .collect();
    Ok(Answer::structured(json!({"units": units})))
}

/// By symbol to the letter first (`kB` is not `KB`), then by name in whichever case and number.
fn find(text: &str) -> Result<&'static Unit, String> {
    let text = text.trim();
    let lower = text.to_lowercase();
    let singular = lower.strip_suffix('s').unwrap_or(&lower);
    let by_symbol = UNITS.iter().find(|unit| unit.symbol == text);
    let by_name = || {
        UNITS.iter().find(|unit| {
            let mut names = unit.names.iter();
            names.any(|name| *name == lower || *name == singular)
        })
    };
    let in_any_case = || {
        UNITS
            .iter()
            .find(|unit| unit.symbol.to_lowercase() == lower)
    };
    by_symbol
        .or_else(by_name)
        .or_else(in_any_case)
        .ok_or_else(|| {
            format!("there is no unit `{text}`: list_units returns the units that exist")
        })
}

fn converted(value: f64, from: &Unit, to: &Unit) -> Result<f64, String> {
    if from.dimension != to.dimension {
        return Err(format!(
            "`{}` is a unit of {} and `{}` one of {}",
            from.symbol,
            named(from.dimension),
            to.symbol,
            named(to.dimension)
        ));
    }
    let value = (value * from.factor + from.offset - to.offset) / to.factor;
    if value.is_finite() {
        Ok(value)
    } else {
        Err("the answer is too large for a number".into())
    }
}

fn named(dimension: Dimension) -> String {
    format!("{dimension:?}").to_lowercase()
}

fn rounded(value: f64) -> f64 {
    shown(value, None).parse().unwrap_or(value)
}

/// Up to 6 significant digits without trailing zeros, or so many digits after the point.
fn shown(value: f64, decimals: Option<usize>) -> String {
    if let Some(decimals) = decimals {
        return format!("{value:.*}", decimals.min(12));
    }
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-6..15).contains(&magnitude) {
        let text = format!("{value:.5e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", without_trailing_zeros(digits));
    }
    let text = format!("{value:.*}", (5 - magnitude).clamp(0, 12) as usize);
    without_trailing_zeros(&text).to_owned()
}

fn without_trailing_zeros(number: &str) -> &str {
    if !number.contains('.') {
        return number;
    }
    number.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::demo::tool::call;

    fn convert(value: f64, from: &str, to: &str) -> String {
        let arguments = json!({"value": value, "from": from, "to": to});
        call(&mut server(), "convert", arguments)
    }

    #[test]
    fn converts_by_symbol_and_by_name() {
        let answers = [
            convert(26.2, "mi", "km"),
            convert(451.0, "fahrenheit", "Celsius"),
            convert(-40.0, "°C", "°F"),
            convert(2.0, "cups", "ml"),
            convert(1e-9, "g", "kg"),
            convert(0.0, "feet", "m"),
            convert(1.0, "GiB", "kB"),
            convert(3.0, "kg", "m"),
            convert(3.0, "smoot", "m"),
            convert(1e308, "d", "s"),
        ];
        expect![[r#"
            26.2 mi = 42.1648 km
            451 °F = 232.778 °C
            -40 °C = -40 °F
            2 cup = 473.176 ml
            1e-9 g = 1e-12 kg
            0 ft = 0 m
            1 GiB = 1073742 kB
            error: `kg` is a unit of mass and `m` one of length
            error: there is no unit `smoot`: list_units returns the units that exist
            error: the answer is too large for a number"#]]
        .assert_eq(&answers.join("\n"));
    }

    #[test]
    fn one_bad_quantity_does_not_spoil_the_others() {
        let quantities = json!([{"value": 1, "unit": "lb"}, {"value": 1, "unit": "l"}]);
        let arguments = json!({"quantities": quantities, "to": "g"});
        expect![[r#"{"quantities":[{"value":453.592,"unit":"g"},{"error":"`l` is a unit of volume and `g` one of mass"}]}"#]].assert_eq(&call(&mut server(), "convert_many", arguments));
    }

    #[test]
    fn compares_across_units() {
        let compare = |tolerance: f64| {
            let (left, right) = (
                json!({"value": 5, "unit": "mi"}),
                json!({"value": 8, "unit": "km"}),
            );
            let arguments = json!({"left": left, "right": right, "tolerance": tolerance});
            call(&mut server(), "compare_quantities", arguments)
        };
        expect![[r#"
            {"left_is":"greater","difference":0.0290305,"unit":"mi","factor":1.00584}
            {"left_is":"equal","difference":0.0290305,"unit":"mi","factor":1.00584}"#]]
        .assert_eq(&[compare(0.0), compare(0.01)].join("\n"));
    }

    #[test]
    fn every_unit_is_found_by_each_of_its_names() {
        for unit in UNITS {
            for name in unit.names.iter().chain([&unit.symbol]) {
                assert_eq!(
                    find(name).map(|found| found.symbol),
                    Ok(unit.symbol),
                    "{name}"
                );
            }
        }
    }
}
