import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isPlainRun, type OnGap, type RowStanding, walkKey } from '../../src/effects/projection/walk-key.ts'
import { Verdict } from '../../src/engine/batch/verdicts.ts'

const item = {} as never
const fact = (version: number, changes: object = {}) => ({
  item,
  message: null,
  version: BigInt(version),
  values: [],
  deletes: false,
  corrects: null,
  digest: Buffer.from([version]),
  ...changes,
})
const row = (version: number, changes: Partial<RowStanding> = {}): RowStanding => ({
  version: BigInt(version),
  deleted: false,
  digest: Buffer.from([version]),
  ...changes,
})
type Fact = ReturnType<typeof fact>

function walk(
  standing: RowStanding | null,
  facts: Fact[],
  onGap: OnGap<null> | 'skips allowed' = 'skips allowed',
) {
  const { steps, verdicts } = walkKey<null>(standing, facts as never, 1n, onGap)
  return {
    steps: steps.map(({ fact: { version }, codes, from }) => [Number(version), codes, from && Number(from)]),
    verdicts: [...verdicts.values()].map(({ kind, code, reason }) => [kind, code, reason]),
  }
}

describe('the facts of one key against its row', () => {
  test('the first fact makes the row, each next one moves it', () => {
    assert.deepEqual(walk(null, [fact(1), fact(2)]), {
      steps: [
        [1, [], null],
        [2, [], 1],
      ],
      verdicts: [],
    })
  })

  test('an older fact is stale, the same one a duplicate, other content under its version a conflict', () => {
    assert.deepEqual(walk(row(5), [fact(4), fact(5), fact(5, { digest: Buffer.from('x') }), fact(6)]), {
      steps: [[6, [], 5]],
      verdicts: [
        ['stale', 'stale', 'version 4 arrived after version 5'],
        ['duplicate', 'duplicate', 'version 5 is already applied'],
        ['quarantine', 'version_conflict', 'version 5 arrived again with other content'],
      ],
    })
    assert.deepEqual(walk(null, [fact(1), fact(1)]).verdicts, [
      ['duplicate', 'duplicate', 'version 1 occurs twice in one batch'],
    ])
  })

  test('without a digest on either side the same version is a duplicate', () => {
    const duplicate = [['duplicate', 'duplicate', 'version 5 is already applied']]
    assert.deepEqual(walk(row(5, { digest: null }), [fact(5)]).verdicts, duplicate)
    assert.deepEqual(walk(row(5), [fact(5, { digest: null })]).verdicts, duplicate)
  })

  test('a gap is reported with the version that was found, and only where skips are not allowed', () => {
    const asked: unknown[] = []
    const accept: OnGap<null> = ({ version }, found) => {
      asked.push([version, found])
      return 'accept'
    }
    assert.deepEqual(walk(row(2), [fact(3), fact(5)], accept).steps, [
      [3, [], 2],
      [5, ['gap'], 3],
    ])
    assert.deepEqual(walk(null, [fact(3)], accept).steps, [[3, ['gap'], null]])
    assert.deepEqual(asked, [
      [5n, 3n],
      [3n, null],
    ])
    assert.deepEqual(walk(row(2), [fact(9)]).steps, [[9, [], 2]])
    assert.deepEqual(walk(null, [fact(1)], accept).steps, [[1, [], null]])
  })

  test('a verdict on a gap leaves the row where it is', () => {
    const wait: OnGap<null> = ({ version }) => Verdict.park(`waits for ${version - 1n}`, 'gap')
    assert.deepEqual(walk(row(2), [fact(4), fact(3), fact(5)], wait), {
      steps: [[3, [], 2]],
      verdicts: [
        ['park', 'gap', 'waits for 3'],
        ['park', 'gap', 'waits for 4'],
      ],
    })
  })

  test('a repair fills a gap without a verdict', () => {
    const never: OnGap<null> = () => assert.fail('asked')
    assert.deepEqual(walk(row(2), [fact(7, { item: null })], never).steps, [[7, ['repaired'], 2]])
  })

  test('deletions, returns from a deletion and corrections are noted', () => {
    const facts = [fact(2, { deletes: true }), fact(3), fact(4, { corrects: '2' })]
    assert.deepEqual(walk(row(1), facts).steps, [
      [2, ['deleted'], 1],
      [3, ['resurrected'], 2],
      [4, ['correction'], 3],
    ])
    assert.deepEqual(walk(row(1, { deleted: true }), [fact(2, { deletes: true })]).steps, [
      [2, ['deleted'], 1],
    ])
    assert.deepEqual(walk(row(1, { deleted: true }), [fact(2)]).steps, [[2, ['resurrected'], 1]])
  })

  test('a plain run has no gap, and no version twice', () => {
    const runs = (versions: number[], maySkip: boolean) =>
      isPlainRun(versions.map(version => fact(version)) as never, maySkip)
    assert.deepEqual(
      [runs([], false), runs([4], false), runs([4, 5, 6], false), runs([4, 6], false), runs([4, 4], false)],
      [true, true, true, false, false],
    )
    assert.deepEqual([runs([4, 6], true), runs([4, 4], true), runs([4, 6, 6], true)], [true, false, false])
  })
})
