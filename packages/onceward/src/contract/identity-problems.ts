import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** What needs an identity that the contract does not give. */
export function identityProblems({ identity, order, message }: ConsumerContract, wrong: Report): void {
  const expects = isRecord(message) && !('~standard' in message) && message.versions !== undefined
  if (expects && identity?.schemaVersion === undefined)
    wrong('message.versions', 'needs identity.schemaVersion, which says where the version stands')
  if (!isRecord(identity)) return
  if (order === 'key' && identity.orderKey === undefined)
    wrong('identity.orderKey', "is missing: order 'key' needs to know the key")
  if (identity.businessDigest !== undefined && identity.businessKey === undefined)
    wrong('identity.businessDigest', 'means nothing without identity.businessKey')
}
