import { codeOnly } from './code-kinds.ts'
import type { Option } from './option.ts'
import { option } from './option.ts'
import { listedOptions, OptionTable } from './table.ts'
import { texts } from './text-kinds.ts'

/** The sections and options of a consumer that a transform has too, with everything below them. */
const shared = [
  ...['name', 'owner', 'producer', 'description', 'risk', 'handlerVersion', 'source', 'message', 'identity'],
  ...['failure', 'objectives', 'batch', 'batch.sizeMax', 'batch.handlerTimeoutMs'],
]

/** Options of those sections that need a store, or a broker that counts deliveries. */
const withoutStore = [
  ...['failure.mode', 'failure.parking', 'failure.redelivery', 'failure.deadLetter.manualReviewRequired'],
  ...['message.digestHeaders', 'message.maskedMembers', 'identity.businessKey', 'identity.businessDigest'],
  'identity.idTime',
  ...['objectives.leasesExpiredPerHourMax', 'objectives.outboxAgeMax', 'objectives.parkingShareMax'],
  'objectives.duplicateShareMax',
]

const topics = texts('must list the topics it writes to', { fits: name => name !== '', least: 1 })

/** What only a transform has; both stay in TypeScript. */
const ownOptions: readonly Option[] = [
  option('map', codeOnly('must be a function'), null, {
    missing: true,
    policyKey: null,
    elsewhere: 'is a function and stays in TypeScript',
  }),
  option('to', topics, null, {
    missing: true,
    policyKey: null,
    elsewhere: 'belongs to the function and stays in TypeScript',
  }),
]

/** Whether a transform has this option of consumers. */
export function isTransformOption(path: string): boolean {
  if (withoutStore.some(one => path === one || path.startsWith(`${one}.`))) return false
  return shared.some(one => path === one || (one !== 'batch' && path.startsWith(`${one}.`)))
}

/** Every option of a transform. Values, defaults and policy keys are those of consumers. */
export const transformOptions = new OptionTable([
  ...(listedOptions as readonly Option[]).filter(({ path }) => isTransformOption(path)),
  ...ownOptions,
])
