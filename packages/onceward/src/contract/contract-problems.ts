import { isRecord, oneOf, type Report, unknownKeys, wholeNumber } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { effectProblems } from './effect-problems.ts'
import { failureProblems } from './failure-problems.ts'
import { inboxProblems } from './inbox-problems.ts'
import { isolationProblems } from './isolation-problems.ts'
import { properties, risks } from './known-names.ts'
import { objectivesProblems } from './objectives-problems.ts'
import { reconcileProblems } from './reconcile-problems.ts'
import { replayProblems } from './replay-problems.ts'
import { retentionProblems } from './retention-problems.ts'
import { settleProblems } from './settle-problems.ts'
import { sourceProblems } from './source-problems.ts'

export interface ContractProblem {
  readonly place: string
  readonly text: string
}

/** Every problem of a contract at once. Pure; also usable on data that is no contract at all. */
export function contractProblems(contract: ConsumerContract): ContractProblem[] {
  const problems: ContractProblem[] = []
  const wrong = (place: string, text: string) => void problems.push({ place, text })
  if (!isRecord(contract)) return [{ place: 'contract', text: 'must be an object' }]

  unknownKeys(contract, 'contract', '', wrong)
  if (typeof contract.name !== 'string' || !/^[a-z][a-z0-9_]{0,47}$/.test(contract.name)) {
    wrong('name', 'must match ^[a-z][a-z0-9_]{0,47}$ (lower case, digits, underscores)')
  }
  if (typeof contract.owner !== 'string' || contract.owner.trim() === '') {
    wrong('owner', 'must name the team that answers for this consumer and its dead letters')
  }
  oneOf(contract.risk, risks, 'risk', wrong)
  wholeNumber(contract.generation, 'generation', 1, 32_767, wrong)
  sourceProblems(contract, wrong)
  if (contract.order !== undefined) oneOf(contract.order, ['none', 'key', 'partition'], 'order', wrong)
  const ways = [contract.handle, contract.handleBatch, contract.effect?.apply]
  if (ways.filter(way => way !== undefined).length !== 1) {
    wrong('handle', 'give exactly one of handle (per message), handleBatch (per batch) and effect.apply')
  }
  for (const name of ['handle', 'handleBatch'] as const) {
    if (contract[name] !== undefined && typeof contract[name] !== 'function')
      wrong(name, 'must be a function')
  }
  identityProblems(contract, wrong)
  messageProblems(contract, wrong)
  effectProblems(contract, wrong)
  failureProblems(contract, wrong)
  batchProblems(contract, wrong)
  inboxProblems(contract, wrong)
  replayProblems(contract, wrong)
  isolationProblems(contract, wrong)
  reconcileProblems(contract, wrong)
  retentionProblems(contract, wrong)
  settleProblems(contract, wrong)
  objectivesProblems(contract, wrong)
  return problems
}

function identityProblems(contract: ConsumerContract, wrong: Report): void {
  const identity = contract.identity
  if (!isRecord(identity)) return wrong('identity', 'is missing: say at least which field is the message id')
  unknownKeys(identity, 'identity', 'identity.', wrong)
  if (identity.id === undefined)
    wrong('identity.id', 'is missing: without a stable id no duplicate can be recognised')
  if (identity.idTime !== undefined) oneOf(identity.idTime, ['uuidv7', 'ulid'], 'identity.idTime', wrong)
  for (const [name, from] of Object.entries(identity)) {
    if (name === 'idTime') continue
    if (typeof from === 'function' || (name === 'id' && from === 'position')) continue
    const named = isRecord(from) && (typeof from.header === 'string' || typeof from.property === 'string')
    if (isRecord(from) && typeof from.property === 'string') {
      oneOf(from.property, properties, `identity.${name}`, wrong)
    }
    if (!named || name === 'businessDigest')
      wrong(`identity.${name}`, "must be a function, { header: 'name' } or { property: 'messageId' }")
  }
  if (contract.order === 'key' && identity.orderKey === undefined) {
    wrong('identity.orderKey', "is missing: order 'key' needs to know the key")
  }
  if (identity.businessDigest !== undefined && identity.businessKey === undefined) {
    wrong('identity.businessDigest', 'means nothing without identity.businessKey')
  }
}

function messageProblems(contract: ConsumerContract, wrong: Report): void {
  const message = contract.message
  if (message === undefined) return
  if (typeof message === 'function' && '~standard' in message) return
  if (!isRecord(message))
    return wrong(
      'message',
      'must be a Standard Schema or { schema, codec, limits, digestHeaders, types, versions, tombstones }',
    )
  if ('~standard' in message) return
  unknownKeys(message, 'message', 'message.', wrong)
  const { digestHeaders, limits } = message
  expectedProblems(contract, message, wrong)
  if (message.tombstones !== undefined)
    oneOf(message.tombstones, ['quarantine', 'handle'], 'message.tombstones', wrong)
  if (
    digestHeaders !== undefined &&
    !(Array.isArray(digestHeaders) && digestHeaders.every(h => typeof h === 'string'))
  ) {
    wrong('message.digestHeaders', 'must be a list of header names')
  }
  if (limits !== undefined && !isRecord(limits)) wrong('message.limits', 'must be an object')
  if (isRecord(message.limits)) {
    unknownKeys(message.limits, 'message.limits', 'message.limits.', wrong)
    for (const [name, value] of Object.entries(message.limits)) {
      wholeNumber(value, `message.limits.${name}`, 1, 2 ** 31, wrong)
    }
  }
}

/** What a consumer expects to read can only be told where the contract says how. */
function expectedProblems(
  { identity }: ConsumerContract,
  { types, versions }: Record<string, unknown>,
  wrong: Report,
): void {
  const isName = (value: unknown) => typeof value === 'string' && value !== ''
  if (types !== undefined && !(Array.isArray(types) && types.length > 0 && types.every(isName)))
    wrong('message.types', 'must be a list of names')
  if (versions === undefined) return
  if (identity?.schemaVersion === undefined)
    wrong('message.versions', 'needs identity.schemaVersion, which says where the version stands')
  if (Array.isArray(versions)) {
    if (versions.length === 0 || !versions.every(one => isName(one) || Number.isFinite(one)))
      wrong('message.versions', 'must be a list of versions, or { min, max }')
    return
  }
  if (!isRecord(versions)) return wrong('message.versions', 'must be a list of versions, or { min, max }')
  unknownKeys(versions, 'message.versions', 'message.versions.', wrong)
  for (const end of ['min', 'max'] as const) {
    if (versions[end] === undefined) wrong(`message.versions.${end}`, 'is missing')
    wholeNumber(versions[end], `message.versions.${end}`, 0, 2 ** 31, wrong)
  }
  if (Number(versions.min) > Number(versions.max))
    wrong('message.versions', 'has its ends the wrong way round')
}

function batchProblems(contract: ConsumerContract, wrong: Report): void {
  const batch = contract.batch
  if (batch === undefined) return
  if (!isRecord(batch)) return wrong('batch', 'must be an object')
  unknownKeys(batch, 'batch', 'batch.', wrong)
  wholeNumber(batch.sizeMax, 'batch.sizeMax', 1, 10_000, wrong)
  wholeNumber(batch.inFlightMax, 'batch.inFlightMax', 1, 16, wrong)
  wholeNumber(batch.deliveriesMax, 'batch.deliveriesMax', 1, 65_535, wrong)
  wholeNumber(batch.bytesMax, 'batch.bytesMax', 1, 2 ** 40, wrong)
  wholeNumber(batch.handlerTimeoutMs, 'batch.handlerTimeoutMs', 1, 2 ** 31 - 1, wrong)
}
