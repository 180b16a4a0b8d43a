import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Options that need an identity the contract does not declare. */
export function identityProblems({ identity, order, message }: ConsumerContract, wrong: Report): void {
  const expects = isRecord(message) && !('~standard' in message) && message.versions !== undefined
  if (expects && identity?.schemaVersion === undefined)
    wrong('message.versions', 'needs identity.schemaVersion, which names where the version is read')
  if (!isRecord(identity)) return
  if (order === 'key' && identity.orderKey === undefined)
    wrong('identity.orderKey', "is missing: order 'key' needs it")
  if (identity.businessDigest !== undefined && identity.businessKey === undefined)
    wrong('identity.businessDigest', 'has no effect without identity.businessKey')
}
