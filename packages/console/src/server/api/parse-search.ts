import type { ParkedFilter, ParkedState, PayloadMember } from 'onceward/operations'
import { Problem } from '../http/problem.ts'

/** A search as typed: `consumer:orders code:no_account since:2h payload.order.id:7 "some text"`. */
export interface Search {
  readonly filter: Omit<ParkedFilter, 'countMax'>
  /** A member of the JSON payload. */
  readonly member: PayloadMember | null
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
  let member: PayloadMember | null = null
  const free: string[] = []
  for (const [whole, name, quoted, bare] of text.matchAll(token)) {
    const value = quoted === undefined ? bare! : quoted.replaceAll(/\\(.)/g, '$1')
    if (name === undefined) free.push(value)
    else if (name.startsWith('payload.')) member = { path: name.slice(8).split('.'), value }
    else if (Object.hasOwn(named, name)) Object.assign(filter, { [named[name]!]: value })
    else if (name === 'state') filter.states = statesOf(value)
    else if (name === 'since' || name === 'until') filter[name] = timeOf(name, value, now)
    else if (name === 'id') filter.ids = idsOf(value)
    else if (/^https?$/.test(name)) free.push(whole)
    else throw unclear(`There is no qualifier "${name}:". Use ${qualifiers.join(', ')}, or text in quotes.`)
  }
  if (free.length > 0) filter.payloadHas = [free.join(' ')]
  return { filter, member, readsPayload: member !== null || free.length > 0 }
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
