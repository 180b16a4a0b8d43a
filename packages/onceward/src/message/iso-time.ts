/** A point in time in ISO 8601, with a time zone. */
export interface IsoTime {
  /** Milliseconds since 1970; finer digits are cut off. */
  readonly ms: number
  /** The decimals of the second, without trailing zeros. */
  readonly fraction: string
}

const moment =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)?([Zz]|[+-]\d\d(?::?\d\d)?)$/
const day = /^(\d{4})-(\d\d)-(\d\d)$/
const clock = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)?([Zz]|[+-]\d\d(?::?\d\d)?)?$/

const [dayMs, hourMs, minuteMs] = [86_400_000, 3_600_000, 60_000]
/**
 * The calendar repeats after this. Added because `Date.UTC` maps years below 100 to the twentieth century.
 */
const [cycleYears, cycleDays] = [400, 146_097]
const cycleMs = cycleDays * dayMs

/** The range PostgreSQL accepts; real time zones are within 14 hours. */
const offsetMaxMinutes = 15 * 60 + 59

/**
 * Accepts years 1 to 9999, existing days, and a time zone. Refuses forms on which readers disagree: 24:00,
 * leap seconds, years of other lengths, zones with seconds or names, and times in the zone of the process or
 * session. Returns the reason as a text.
 */
export function readIsoTime(text: string): IsoTime | string {
  const parts = moment.exec(text)
  if (parts === null) return zoneless.test(text) ? 'it has no time zone' : 'it is not an ISO 8601 time'
  const [, year, month, date, hour, minute, second = '00', digits = '', zone] = parts
  const wrong = wrongDay(year!, month!, date!) ?? wrongClock(hour!, minute!, second)
  if (wrong !== null) return wrong
  const offset = offsetMinutes(zone!)
  if (offset === null) return `there is no time zone ${zone}`
  const fraction = digits.replace(/0+$/, '')
  const ms = Number(digits.slice(0, 3).padEnd(3, '0'))
  const days = Date.UTC(Number(year) + cycleYears, Number(month) - 1, Number(date)) - cycleMs
  const whole = days + Number(hour) * hourMs + Number(minute) * minuteMs + Number(second) * 1000 + ms
  const at = whole - offset * minuteMs
  return at < timeMinMs || at > timeMaxMs ? 'it is outside of the years 1 to 9999' : { ms: at, fraction }
}

const zoneless = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$/

/** Years 1 to 9999, which JavaScript and PostgreSQL can both write. */
export const [timeMinMs, timeMaxMs] = [-62_135_596_800_000, 253_402_300_799_999]

/**
 * A time in UTC and ISO 8601, to the second. It is computed because only the clock may create dates, and
 * `Intl` uses another calendar before 1582.
 */
export function utcText(ms: number): string {
  const days = Math.floor(ms / dayMs)
  const rest = ms - days * dayMs
  // Years start in March, so that a leap day is the last day of its year.
  const since = days + daysFromMarch0
  const cycle = Math.floor(since / cycleDays)
  const day = since - cycle * cycleDays
  const year = Math.floor(
    (day - Math.floor(day / 1460) + Math.floor(day / 36_524) - Math.floor(day / 146_096)) / 365,
  )
  const ofYear = day - (365 * year + Math.floor(year / 4) - Math.floor(year / 100))
  const march = Math.floor((5 * ofYear + 2) / 153)
  const month = march < 10 ? march + 3 : march - 9
  const date = ofYear - Math.floor((153 * march + 2) / 5) + 1
  const years = year + cycle * cycleYears + (month <= 2 ? 1 : 0)
  const clock = [rest / hourMs, (rest % hourMs) / minuteMs, (rest % minuteMs) / 1000]
  return `${padded(years, 4)}-${padded(month)}-${padded(date)}T${clock.map(part => padded(Math.floor(part))).join(':')}`
}

/** From 1 March of year 0 to 1970. */
const daysFromMarch0 = 719_468
const padded = (number: number, length = 2) => String(number).padStart(length, '0')

/** Null for a day in ISO 8601, else the reason why it is not one. */
export function whyNoDay(text: string): string | null {
  const parts = day.exec(text)
  return parts === null ? 'it is not an ISO 8601 date' : wrongDay(parts[1]!, parts[2]!, parts[3]!)
}

/** The decimals of a time of day, or the reason why the text is not one. */
export function readClock(text: string, zoned: boolean): { readonly fraction: string } | string {
  const parts = clock.exec(text)
  if (parts === null) return 'it is not an ISO 8601 time of day'
  const [, hour, minute, second = '00', digits = '', zone] = parts
  if (zoned !== (zone !== undefined))
    return zoned ? 'it has no time zone' : 'it has a time zone, which the column would drop'
  if (zone !== undefined && offsetMinutes(zone) === null) return `there is no time zone ${zone}`
  return wrongClock(hour!, minute!, second) ?? { fraction: digits.replace(/0+$/, '') }
}

function wrongDay(year: string, month: string, date: string): string | null {
  if (year === '0000') return 'there is no year 0000'
  const days = daysIn(Number(year), Number(month))
  const exists = month >= '01' && month <= '12' && date >= '01' && Number(date) <= days
  return exists ? null : `there is no day ${year}-${month}-${date}`
}

function daysIn(year: number, month: number): number {
  const monthMs = Date.UTC(year + cycleYears, month) - Date.UTC(year + cycleYears, month - 1)
  return monthMs / dayMs
}

function wrongClock(hour: string, minute: string, second: string): string | null {
  if (second === '60') return 'it is a leap second, which tables cannot store'
  return hour <= '23' && minute <= '59' && second <= '59'
    ? null
    : `there is no time ${hour}:${minute}:${second}`
}

function offsetMinutes(zone: string): number | null {
  if (zone === 'Z' || zone === 'z') return 0
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', '') || 0)]
  const offset = hours * 60 + minutes
  return minutes > 59 || offset > offsetMaxMinutes ? null : zone[0] === '-' ? -offset : offset
}
