import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { mergeExpositions } from '../../src/telemetry/merge-expositions.ts'

const page = (value: number) =>
  [
    '# HELP up Whether it runs',
    '# TYPE up gauge',
    `up{consumer="a {b} c"} ${value}`,
    '# HELP plain Without labels',
    '# TYPE plain counter',
    `plain ${value}`,
    '# HELP took How long it took',
    '# TYPE took histogram',
    `took_count{consumer="a"} ${value}`,
    `took_bucket{consumer="a",le="+Inf"} ${value}`,
    '',
  ].join('\n')

describe('the metrics of several processes on one page', () => {
  test('describes each metric once and labels each sample with its process', () => {
    assert.deepEqual(
      mergeExpositions([page(1), page(2)])
        .split('\n')
        .filter(line => line !== ''),
      [
        '# HELP up Whether it runs',
        '# TYPE up gauge',
        'up{process="1",consumer="a {b} c"} 1',
        'up{process="2",consumer="a {b} c"} 2',
        '# HELP plain Without labels',
        '# TYPE plain counter',
        'plain{process="1"} 1',
        'plain{process="2"} 2',
        '# HELP took How long it took',
        '# TYPE took histogram',
        'took_count{process="1",consumer="a"} 1',
        'took_bucket{process="1",consumer="a",le="+Inf"} 1',
        'took_count{process="2",consumer="a"} 2',
        'took_bucket{process="2",consumer="a",le="+Inf"} 2',
      ],
    )
  })

  test('keeps a metric that only one process has, and the numbers of processes that do not answer', () => {
    const merged = mergeExpositions(['', page(2)])
    assert.match(merged, /^plain\{process="2"\} 2$/m)
    assert.doesNotMatch(merged, /process="1"/)
  })

  test('leaves the page of a process that is alone as it is', () => {
    assert.equal(mergeExpositions([page(1)]), page(1))
  })
})
