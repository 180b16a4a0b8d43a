import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readClock, readIsoTime, utcText, whyNoDay } from '../../src/message/iso-time.ts'

const refused: readonly [string, string][] = [
  ['05-11-2026', 'it is not an ISO 8601 time'],
  ['now', 'it is not an ISO 8601 time'],
  ['today', 'it is not an ISO 8601 time'],
  ['infinity', 'it is not an ISO 8601 time'],
  ['2026-11-05', 'it has no time zone'],
  ['2026-11-05T08:00:00', 'it has no time zone'],
  ['2026-11-05T08:00:00 Europe/Berlin', 'it is not an ISO 8601 time'],
  ['2026-11-05T08:00:00 CET', 'it is not an ISO 8601 time'],
  ['Thu, 05 Nov 2026 08:00:00 +0000', 'it is not an ISO 8601 time'],
  ['2026-11-05T24:00:00Z', 'there is no time 24:00:00'],
  ['2026-11-05T08:60:00Z', 'there is no time 08:60:00'],
  ['2016-12-31T23:59:60Z', 'it is a leap second, which tables cannot store'],
  ['0000-01-01T00:00:00Z', 'there is no year 0000'],
  ['0001-01-01T00:00:00+01:00', 'it is outside of the years 1 to 9999'],
  ['9999-12-31T23:59:59-01:00', 'it is outside of the years 1 to 9999'],
  ['12026-11-05T08:00:00Z', 'it is not an ISO 8601 time'],
  ['+012026-11-05T08:00:00Z', 'it is not an ISO 8601 time'],
  ['-000001-11-05T08:00:00Z', 'it is not an ISO 8601 time'],
  ['2026-02-29T08:00:00Z', 'there is no day 2026-02-29'],
  ['2026-13-01T08:00:00Z', 'there is no day 2026-13-01'],
  ['2026-00-01T08:00:00Z', 'there is no day 2026-00-01'],
  ['2026-11-05T08:00:00+01:00:30', 'it is not an ISO 8601 time'],
  ['2026-11-05T08:00:00+16:00', 'there is no time zone +16:00'],
  ['2026-11-05T08:00:00+01:60', 'there is no time zone +01:60'],
  ['20261105T080000Z', 'it is not an ISO 8601 time'],
  ['2026-W45-4T08:00:00Z', 'it is not an ISO 8601 time'],
  [' 2026-11-05T08:00:00Z', 'it is not an ISO 8601 time'],
]

describe('a time in ISO 8601', () => {
  for (const [text, why] of refused) test(`"${text}": ${why}`, () => assert.equal(readIsoTime(text), why))

  for (const [text, iso] of [
    ['2026-11-05T08:00Z', '2026-11-05T08:00:00.000Z'],
    ['2026-11-05t08:00:00z', '2026-11-05T08:00:00.000Z'],
    ['2026-11-05 08:00:00+00', '2026-11-05T08:00:00.000Z'],
    ['2026-11-05T08:00:00.123456-0330', '2026-11-05T11:30:00.123Z'],
    ['2024-02-29T00:00:00+14:00', '2024-02-28T10:00:00.000Z'],
    ['0004-02-29T00:00:00Z', '0004-02-29T00:00:00.000Z'],
    ['1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.999Z'],
  ] as const)
    test(`"${text}" is ${iso}`, () => {
      const time = readIsoTime(text)
      assert.ok(typeof time !== 'string', String(time))
      assert.equal(new Date(time.ms).toISOString(), iso)
    })

  test('is read as JavaScript writes it', () => {
    const dates = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(dates, date => {
        const time = readIsoTime(date.toISOString())
        assert.deepEqual(typeof time === 'string' ? time : time.ms, date.getTime())
        assert.equal(utcText(date.getTime()), date.toISOString().slice(0, 19))
      }),
    )
  })

  test('days and times of day', () => {
    assert.deepEqual(
      ['2026-11-05', '2026-02-30', '2026-11-05T00:00:00Z', 'today', '05-11-2026'].map(whyNoDay),
      [null, 'there is no day 2026-02-30', ...Array(3).fill('it is not an ISO 8601 date')],
    )
    assert.deepEqual(readClock('08:30', false), { fraction: '' })
    assert.deepEqual(readClock('08:30:00.120', false), { fraction: '12' })
    assert.deepEqual(readClock('08:30:00+02', true), { fraction: '' })
    assert.equal(readClock('08:30:00', true), 'it has no time zone')
    assert.equal(readClock('08:30:00Z', false), 'it has a time zone, which the column would drop')
    assert.equal(readClock('24:00:00', false), 'there is no time 24:00:00')
    assert.equal(readClock('allballs', false), 'it is not an ISO 8601 time of day')
  })
})
