import { durationText } from '../../contract/duration.ts'
import type { Outcome } from '../../engine/batch/outcome.ts'
import type { Consumer } from '../../index.ts'
import { type Behaviour, behaviourText, type Situation } from './behaviour.ts'

/** The part of the page's table that answers one question, as a sentence. */
export function saidOf(behaviour: readonly Behaviour[], about: readonly Situation[]): string {
  return behaviour
    .filter(({ situation }) => about.includes(situation))
    .map(one => `${one.when}: ${behaviourText(one)}`)
    .join('; ')
}

export function orderText({ order, effect }: Consumer, behaviour: readonly Behaviour[]): string {
  const guard =
    effect?.apply?.remembers === true ? 'the version guard ignores older facts and records gaps; ' : ''
  if (order === 'none')
    return `${guard}${guard === '' ? 'not kept: the effect must not depend on order' : 'arrival is in any order'}`
  const passed = new Set(behaviour.filter(({ later }) => later === 'continue').map(({ outcome }) => outcome))
  const waits = new Set(behaviour.filter(({ later }) => later === 'wait').map(({ outcome }) => outcome))
  const lane = order === 'key' ? 'key' : 'partition'
  return [
    `${guard}applied in order of arrival per ${lane}`,
    ...(waits.size === 0 ? [] : [`later messages of the ${lane} wait behind one that is ${wordsFor(waits)}`]),
    ...(passed.size === 0 ? [] : [`they continue past one that is ${wordsFor(passed)}`]),
  ].join('; ')
}

const inOrderText: Partial<Record<Outcome, string>> = { retry: 'tried again', halted: 'cause of a halt' }

function wordsFor(outcomes: ReadonlySet<Outcome>): string {
  return [...outcomes].map(outcome => inOrderText[outcome] ?? outcome).join(' or ')
}

export function objectivesText({ objectives }: Consumer, keepsMarkers = true): string {
  const { lagMaxMs, lagRecordsMax, applyP99MaxMs, duplicateShareMax, setAsideMax, setAsideAgeMaxMs } =
    objectives
  const flow = [
    `no message waits longer than ${durationText(lagMaxMs)}`,
    `at most ${lagRecordsMax} wait at the broker`,
    `99 of 100 handler calls within ${durationText(applyP99MaxMs)}`,
  ]
  if (!keepsMarkers) return flow.join('; ')
  return [
    ...flow,
    `at most ${setAsideMax} of one reason wait for a person, and none for longer than ${durationText(setAsideAgeMaxMs)}`,
    `at most ${Number((duplicateShareMax * 100).toFixed(2))} % repeats`,
  ].join('; ')
}

export function ownerText({ owner, producer, failure }: Consumer): string {
  return [
    owner,
    ...(failure.deadLetterOwner === owner ? [] : [`dead letters: ${failure.deadLetterOwner}`]),
    ...(producer === undefined ? [] : [`producer: ${producer}`]),
  ].join('; ')
}
