import { isRecord, oneOf, type Report, wholeNumber } from '../../contract/check-values.ts'
import { nearestName } from '../../ports/nearest-name.ts'
import { afterProblems } from '../declared/after.ts'
import { checkColumn, checkTable } from '../declared/names.ts'
import { responseProblems } from '../declared/respond.ts'
import { defaultResponses, knownFields } from './declaration.ts'
import { machineProblems } from './state-machine.ts'

/** Problems of a declaration that are visible without the database. */
export function transitionProblems(declared: unknown, wrong: Report): void {
  if (!isRecord(declared)) return wrong('transition', 'must be an object')
  for (const field of Object.keys(declared)) {
    if (knownFields.includes(field)) continue
    const near = nearestName(field, knownFields)
    wrong(field, `is not a known key${near === null ? '' : `; did you mean '${near}'?`}`)
  }
  if (declared.machine !== undefined) machineProblems(declared.machine, wrong)
  aggregateProblems(declared, wrong)
  checkTable(declared.facts, 'facts', wrong)
  for (const field of ['aggregateId', 'transitionId', 'actor', 'reason']) {
    if (typeof declared[field] !== 'function') wrong(field, 'must be a function of the message')
  }
  for (const field of ['event', 'from', 'to', 'version']) {
    if (declared[field] !== undefined && typeof declared[field] !== 'function')
      wrong(field, 'must be a function of the message')
  }
  stepProblems(declared, wrong)
  for (const [column, read] of Object.entries(isRecord(declared.set) ? declared.set : {})) {
    checkColumn(column, `set.${column}`, wrong)
    if (typeof read !== 'function') wrong(`set.${column}`, 'must be a function of the message')
  }
  afterProblems(declared.after, wrong)
  responseProblems(declared.on as Record<string, unknown>, Object.keys(defaultResponses), wrong)
  wholeNumber(declared.retryDelayMs, 'retryDelayMs', 1, 2 ** 31 - 1, wrong)
}

function aggregateProblems({ aggregate, version }: Record<string, unknown>, wrong: Report): void {
  if (!isRecord(aggregate)) return wrong('aggregate', 'must be { table, key, state, version? }')
  checkTable(aggregate.table, 'aggregate.table', wrong)
  checkColumn(aggregate.key, 'aggregate.key', wrong)
  checkColumn(aggregate.state, 'aggregate.state', wrong)
  if (aggregate.versions !== undefined)
    oneOf(aggregate.versions, ['contiguous', 'increasing'], 'aggregate.versions', wrong)
  if (aggregate.version === undefined) {
    if (version !== undefined)
      wrong('aggregate.version', 'is missing: messages carry a version, so name the column that stores it')
    if (aggregate.versions !== undefined) wrong('aggregate.versions', 'needs aggregate.version')
    return
  }
  checkColumn(aggregate.version, 'aggregate.version', wrong)
  if (version === undefined) wrong('version', 'is missing: it must read the version the transition leads to')
}

function stepProblems({ machine, event, from, to }: Record<string, unknown>, wrong: Report): void {
  if (event === undefined && (from === undefined || to === undefined))
    wrong(
      'event',
      machine === undefined ? 'declare from and to, or a machine and event' : 'declare event, or from and to',
    )
  if (event !== undefined && machine === undefined)
    wrong('machine', 'is missing: only a machine knows where an event leads')
}
