import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { readsLog } from './reads-log.ts'

/** Options that need an identity the contract does not declare. */
export function identityProblems(contract: ConsumerContract, wrong: Report): void {
  const { identity, order, message } = contract
  const expects = isRecord(message) && !('~standard' in message) && message.versions !== undefined
  if (expects && identity?.schemaVersion === undefined)
    wrong('message.versions', 'needs identity.schemaVersion, which names where the version is read')
  if (!isRecord(identity)) return
  if (identity.id === 'content') contentProblems(contract, wrong)
  if (order === 'key' && identity.orderKey === undefined)
    wrong('identity.orderKey', "is missing: order 'key' needs it")
  if (identity.businessDigest !== undefined && identity.businessKey === undefined)
    wrong('identity.businessDigest', 'has no effect without identity.businessKey')
}

/** The digest of a message is its id only where each message is delivered under the same bytes. */
function contentProblems(contract: ConsumerContract, wrong: Report): void {
  const { identity, source, dedup } = contract
  if (isRecord(source) && readsLog(contract))
    wrong('identity.id', "'content' is for queues: records of a log have a position, so use 'position'")
  if (dedup !== undefined && dedup !== 'marker')
    wrong('identity.id', `'content' needs dedup 'marker': dedup '${dedup}' keeps no ids`)
  if (identity.idTime !== undefined)
    wrong('identity.idTime', "has no effect with identity.id 'content', which contains no time")
}
