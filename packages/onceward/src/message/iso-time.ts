/** A moment as ISO 8601 writes it, with its zone. */
export interface IsoTime {
  /** Milliseconds since 1970; what is finer is cut. */
  readonly ms: number
  /** Digits of the second behind the point, without trailing zeros. */
  readonly fraction: string
}

const moment =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)?([Zz]|[+-]\d\d(?::?\d\d)?)$/
const day = /^(\d{4})-(\d\d)-(\d\d)$/
const clock = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)?([Zz]|[+-]\d\d(?::?\d\d)?)?$/

const [dayMs, hourMs, minuteMs] = [86_400_000, 3_600_000, 60_000]
/**
 * The calendar repeats itself. Added, because `Date.UTC` takes years below 100 for those of the twentieth
 * century.
 */
const [cycleYears, cycleDays] = [400, 146_097]
const cycleMs = cycleDays * dayMs

/** What PostgreSQL takes; the zones of the world are within 14 hours. */
const offsetMaxMinutes = 15 * 60 + 59

/**
 * Year 1 to 9999, a day that the calendar has, a zone. Refused, because readers disagree on them: 24:00, leap
 * seconds, years of other lengths, zones with seconds or by name, and everything that is read in the
 * process's or the session's own zone. Answers with why in words.
 */
export function readIsoTime(text: string): IsoTime | string {
  const parts = moment.exec(text)
  if (parts === null) return zoneless.test(text) ? 'it has no time zone' : 'it is no ISO 8601 time'
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

/** Year 1 to 9999: what both sides can write. */
export const [timeMinMs, timeMaxMs] = [-62_135_596_800_000, 253_402_300_799_999]

/**
 * To the second, as ISO 8601 writes it in UTC. Computed, because dates are made by the clock's keeper alone,
 * and `Intl` knows another calendar before 1582.
 */
export function utcText(ms: number): string {
  const days = Math.floor(ms / dayMs)
  const rest = ms - days * dayMs
  // Years that begin in March, so that a leap day is the last of its year.
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

/** From the first of March of the year 0 to 1970. */
const daysFromMarch0 = 719_468
const padded = (number: number, length = 2) => String(number).padStart(length, '0')

/** Null for a day as ISO 8601 writes it, else why it is none. */
export function whyNoDay(text: string): string | null {
  const parts = day.exec(text)
  return parts === null ? 'it is no ISO 8601 date' : wrongDay(parts[1]!, parts[2]!, parts[3]!)
}

/** A time of day: its digits behind the point, or why it is none. */
export function readClock(text: string, zoned: boolean): { readonly fraction: string } | string {
  const parts = clock.exec(text)
  if (parts === null) return 'it is no ISO 8601 time of day'
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
  if (second === '60') return 'it is a leap second, which tables do not have'
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
