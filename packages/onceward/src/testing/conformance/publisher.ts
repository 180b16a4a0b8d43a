import type { OutgoingMessage, Publisher } from '../../ports/publisher.ts'
import { runConformance } from './conformance-case.ts'
import { PublisherBench } from './publisher-bench.ts'
import { publisherCases } from './publisher-cases.ts'
import type { SourceUnderTest } from './source.ts'

type Destination = Pick<OutgoingMessage, 'exchange' | 'queue'>

/** A publisher, and a destination whose messages can be read back. */
export interface PublisherUnderTest {
  readonly publisher: Publisher
  /** The destination, fresh and empty, read by a source. */
  readonly destination: SourceUnderTest
  readonly place: Destination
  /** A place that does not exist on this broker. */
  readonly unknown: Destination
  /** A body that the destination refuses for its size; left out where there is no limit a test can reach. */
  readonly tooLargeBytes?: number
  /** Cuts every connection of the publisher, as a network would. */
  disconnect?(): Promise<void>
  close(): Promise<void>
}

/** What a publisher may lack; each lack needs a reason in `without`. */
export type PublisherFeature =
  /** The key arrives beside the body. */
  | 'message key'
  /** Header values that are numbers, booleans and tables arrive as such. */
  | 'typed headers'
  | 'size limit'
  | 'lost connection'

/** What the publisher suite needs of a driver. */
export interface PublisherFactory {
  create(): Promise<PublisherUnderTest>
  readonly without?: Partial<Record<PublisherFeature, string>>
  /** Why none of it can run here, such as a missing server. */
  readonly unavailable?: string | undefined
}

/** Runs every case a publisher must pass, with node:test. */
export function publisherConformance(name: string, factory: PublisherFactory): void {
  runConformance<PublisherBench, PublisherFeature>({
    name: `${name} satisfies the publisher port`,
    unavailable: factory.unavailable,
    cases: publisherCases,
    open: async () => new PublisherBench(await factory.create()),
    close: bench => bench.close(),
    missing: (feature, bench) => missingPublisherFeature(feature, factory, bench.under),
  })
}

function missingPublisherFeature(
  feature: PublisherFeature,
  { without }: PublisherFactory,
  { tooLargeBytes, disconnect }: PublisherUnderTest,
): string | null {
  const reason = without?.[feature]
  if (reason !== undefined) return reason
  if (feature === 'size limit' && tooLargeBytes === undefined) return 'the factory names no size limit'
  if (feature === 'lost connection' && disconnect === undefined) return 'the factory cannot cut a connection'
  return null
}
