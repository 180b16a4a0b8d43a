import type { RangeReader } from '../../ports/range-reader.ts'
import type { Source } from '../../ports/source.ts'
import { runConformance } from './conformance-case.ts'
import { RangeBench } from './range-bench.ts'
import { rangeReaderCases } from './range-reader-cases.ts'
import type { PublishedMessage, SourceUnderTest } from './source.ts'

/** A log with a reader of its history. A `SourceUnderTest` of a log has most of it already. */
export interface RangeReaderUnderTest
  extends Pick<SourceUnderTest, 'committed' | 'loseRecords' | 'recreate' | 'close'> {
  /** A reader of this log, as a campaign opens it; each call another one. */
  openReader(): RangeReader
  /** The live source of the same log; left out where no source reads it, as for rows and archives. */
  readonly source?: Source
  readonly partitions: readonly string[]
  /** Resolves once the records are in the log. `partition` is an index in `partitions`. */
  publish(messages: readonly PublishedMessage[]): Promise<void>
  /** The name of a partition in `Edge.offsets`; left out when the reader has no edges. */
  edgeOf?(partition: string): string
}

/** What a range reader may lack; each lack needs a reason in `without`. */
export type RangeReaderFeature =
  | 'edges'
  /** An empty log is no mistake. */
  | 'empty log'
  | 'live source'
  | 'any bytes'
  | 'headers'
  | 'position on the broker'
  | 'expiring records'
  | 'recreation'

/** What the suite of range readers needs of a driver. */
export interface RangeReaderFactory {
  create(): Promise<RangeReaderUnderTest>
  readonly without?: Partial<Record<RangeReaderFeature, string>>
  /** Why none of it can run here, such as a missing server. */
  readonly unavailable?: string | undefined
}

/** Runs every case a range reader must pass, with node:test. */
export function rangeReaderConformance(name: string, factory: RangeReaderFactory): void {
  runConformance<RangeBench, RangeReaderFeature>({
    name: `${name} satisfies the range reader port`,
    unavailable: factory.unavailable,
    cases: rangeReaderCases,
    open: async () => new RangeBench(await factory.create()),
    close: bench => bench.close(),
    missing: (feature, bench) => missingRangeFeature(feature, factory, bench.under),
  })
}

function missingRangeFeature(
  feature: RangeReaderFeature,
  { without }: RangeReaderFactory,
  under: RangeReaderUnderTest,
): string | null {
  const reason = without?.[feature]
  if (reason !== undefined) return reason
  const lacks: Partial<Record<RangeReaderFeature, string | false>> = {
    edges: under.edgeOf === undefined && 'name an edge',
    'live source': under.source === undefined && 'read the log with a source',
    'position on the broker': under.committed === undefined && 'see the position on the broker',
    'expiring records': under.loseRecords === undefined && 'make records expire',
    recreation: under.recreate === undefined && 'make the log anew',
  }
  const lack = lacks[feature]
  return lack ? `the factory cannot ${lack}` : null
}
