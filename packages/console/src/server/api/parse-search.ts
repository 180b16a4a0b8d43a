import type { ParkedFilter, ParkedState, PayloadMember } from 'onceward/operations'
import { Problem } from '../http/problem.ts'

/** A search as typed: `consumer:orders code:no_account since:2h payload.order.id:7 "some text"`. */
export interface Search {
  readonly filter: Omit<ParkedFilter, 'countMax'>
  /** Members that the JSON payload has, all of them. */
  readonly members: readonly PayloadMember[]
  /** The search reads payloads. */
  readonly readsPayload: boolean
}

const named: Readonly<Record<string, keyof ParkedFilter>> = {
  consumer: 'consumer',
  class: 'failureClass',
  code: 'code',
  key: 'key',
  business: 'businessKey',
  type: 'type',
  message: 'messageId',
  cause: 'cause',
  label: 'label',
  assignee: 'assignee',
}
export const qualifiers = [...Object.keys(named), 'state', 'since', 'until', 'id', 'payload.<member>']
const states: readonly ParkedState[] = ['parked', 'dead', 'quarantined']
const token = /(?:([a-z]+(?:\.[^\s:"]+)?):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/g

export function parseSearch(text: string, now: Date): Search {
  const filter: { -readonly [Name in keyof ParkedFilter]?: ParkedFilter[Name] } = {}
  const members: PayloadMember[] = []
  const texts = new Texts()
  const given = new Map<string, string>()
  for (const [whole, name, quoted, bare] of text.matchAll(token)) {
    const value = quoted === undefined ? bare! : quoted.replaceAll(/\\(.)/g, '$1')
    const isLink = name !== undefined && /^https?$/.test(name)
    if (name === undefined || isLink) {
      texts.add(isLink ? whole : value, quoted !== undefined)
      continue
    }
    texts.end()
    assertOnce(given, name, value)
    if (name.startsWith('payload.')) members.push({ path: name.slice(8).split('.'), value })
    else if (Object.hasOwn(named, name)) Object.assign(filter, { [named[name]!]: value })
    else if (name === 'state') filter.states = statesOf(value)
    else if (name === 'since' || name === 'until') filter[name] = timeOf(name, value, now)
    else if (name === 'id') filter.ids = idsOf(value)
    else throw unclear(`There is no qualifier "${name}:". Use ${qualifiers.join(', ')}, or text in quotes.`)
  }
  if (texts.all.length > 0) filter.payloadHasAll = texts.all
  return { filter, members, readsPayload: members.length + texts.all.length > 0 }
}

/** Texts that the payload has, all of them. Words without quotes that stand together are one text. */
class Texts {
  readonly #all: string[] = []
  #isOpen = false

  get all(): readonly string[] {
    return [...this.#all]
  }

  add(text: string, isQuoted: boolean): void {
    if (this.#isOpen && !isQuoted) this.#all.push(`${this.#all.pop()} ${text}`)
    else this.#all.push(text)
    this.#isOpen = !isQuoted
  }

  end(): void {
    this.#isOpen = false
  }
}

/** A message has one value of each: of two different ones, the search would silently keep one. */
function assertOnce(given: Map<string, string>, name: string, value: string): void {
  const before = given.get(name)
  given.set(name, value)
  if (before === undefined || before === value) return
  const lists =
    name === 'state' || name === 'id' ? ` Separate several by commas: ${name}:${before},${value}.` : ''
  throw unclear(
    `"${name}:" is given twice, as ${JSON.stringify(before)} and ${JSON.stringify(value)}. Leave one of them out.${lists}`,
  )
}

function statesOf(value: string): readonly ParkedState[] {
  return value.split(',').map(one => {
    const state = states.find(known => known === one)
    if (state === undefined) throw unclear(`"${one}" is not a state. States are ${states.join(', ')}.`)
    return state
  })
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A date, a time, or how long ago: `2026-03-01`, `2026-03-01T10:00:00Z`, `30m`, `2h`, `7d`. */
function timeOf(name: string, value: string, now: Date): Date {
  const ago = /^(\d{1,6})([mhd])$/.exec(value)
  if (ago) return new Date(now.getTime() - Number(ago[1]) * unitMs[ago[2]!]!)
  const time = new Date(value)
  if (/^\d{4}-\d\d-\d\d/.test(value) && !Number.isNaN(time.getTime())) return time
  throw unclear(`"${name}:" takes a date, a time or a duration such as 30m, 2h, 7d.`)
}

function idsOf(value: string): readonly string[] {
  const ids = value.split(',')
  if (ids.every(id => /^\d{1,18}$/.test(id))) return ids
  throw unclear('"id:" takes numbers, separated by commas.')
}

function unclear(why: string): Problem {
  return new Problem(400, 'search', why)
}
