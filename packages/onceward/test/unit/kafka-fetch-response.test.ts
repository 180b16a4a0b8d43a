import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reader } from '@platformatic/kafka'
import { parseFetch } from '../../src/drivers/kafka/fetch-response.ts'

test('a fetch response that ends early is refused with one kind of error, wherever it ends', () => {
  const tags = [1, 0]
  const partition = [...Array(4 + 2 + 24).fill(0), 0, 0, 0, 0, 0, 0, 4, 9, 9, 9, ...tags]
  const whole = Buffer.from([...Array(10).fill(0), 2, ...Array(16).fill(7), 2, ...partition, ...tags])
  for (let length = 0; length < 60; length++)
    assert.throws(() => parseFetch(Reader.from(whole.subarray(0, length))), RangeError, `${length} bytes`)
})
