import { isRecord, oneOf, type Report, unknownKeys, wholeNumber } from '../check-values.ts'
import type { MessageSection } from '../contract.ts'
import type { ValueCheck } from './kind.ts'

type Fits = (text: string) => boolean
const notBlank: Fits = text => text.trim() !== ''

export function text(must = 'must be a string', fits = notBlank): ValueCheck<string> {
  const check = (value: unknown, place: string, wrong: Report) => {
    if (typeof value !== 'string' || !fits(value)) wrong(place, must)
  }
  return { holds: 'value', check, inFile: { kind: 'text' } }
}

export function textOrNull(must: string, fits: Fits): ValueCheck<string | null> {
  const { check } = text(must, fits)
  return {
    holds: 'value',
    check: (value, place, wrong) => value !== null && check(value, place, wrong),
    inFile: { kind: 'text or none' },
    takesNull: true,
  }
}

export function texts(
  must = 'must be a list of strings',
  { fits = () => true, least = 0 }: { fits?: Fits; least?: number } = {},
): ValueCheck<readonly string[]> {
  const check = (value: unknown, place: string, wrong: Report) => {
    const fit = Array.isArray(value) && value.every(one => typeof one === 'string' && fits(one))
    if (!fit || value.length < least) wrong(place, must)
  }
  return { holds: 'value', check, inFile: { kind: 'texts' } }
}

export function word<const W extends readonly string[]>(words: W): ValueCheck<W[number]> {
  return {
    holds: 'value',
    check: (value, place, wrong) => oneOf(value, words, place, wrong),
    inFile: { kind: 'word', words },
  }
}

export function words<const W extends readonly string[]>(words: W): ValueCheck<readonly W[number][]> {
  const check = (value: unknown, place: string, wrong: Report) => {
    if (!Array.isArray(value)) return wrong(place, 'must be a list')
    for (const one of value) oneOf(one, words, place, wrong)
  }
  return { holds: 'value', check, inFile: { kind: 'words', words } }
}

export const flag: ValueCheck<boolean> = {
  holds: 'value',
  check: (value, place, wrong) => {
    if (typeof value !== 'boolean') wrong(place, 'must be true or false')
  },
  inFile: { kind: 'flag' },
}

export const ports: ValueCheck<readonly number[]> = {
  holds: 'value',
  check: (value, place, wrong) => {
    if (!Array.isArray(value) || !value.every(port => Number.isInteger(port)))
      wrong(place, 'must be a list of port numbers, such as [443, 8443]')
  },
  inFile: { kind: 'ports' },
}

/** A list of versions, or a range of whole numbers. */
export const versions: ValueCheck<NonNullable<MessageSection<unknown>['versions']>> = {
  holds: 'value',
  check: (value, place, wrong) => {
    const isVersion = (one: unknown) => (typeof one === 'string' && one !== '') || Number.isFinite(one)
    if (Array.isArray(value) && value.length > 0 && value.every(isVersion)) return
    if (!isRecord(value)) return wrong(place, 'must be a list of versions, or { min, max }')
    rangeProblems(value, place, wrong)
  },
  inFile: { kind: 'versions' },
}

function rangeProblems(range: Record<string, unknown>, place: string, wrong: Report): void {
  unknownKeys(range, ['min', 'max'], `${place}.`, wrong)
  for (const end of ['min', 'max'] as const) {
    if (range[end] === undefined) wrong(`${place}.${end}`, 'is missing')
    wholeNumber(range[end], `${place}.${end}`, 0, 2 ** 31, wrong)
  }
  if (Number(range.min) > Number(range.max)) wrong(place, 'must have min at most max')
}
