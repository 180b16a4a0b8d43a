import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { notification } from 'onceward'

const shipped = { notificationId: 'order-7-shipped', recipient: 'ada@shop.example', templateVersion: 2 }

describe('the key of a notification', () => {
  test('is the same each time, and does not reveal the recipient', () => {
    const { key } = notification(shipped)
    assert.equal(notification({ ...shipped, templateVersion: '2' }).key, key)
    assert.match(key, /^notification-[0-9a-f]{64}$/)
  })

  test('is another one for another occasion, recipient or template version', () => {
    const keys = [
      shipped,
      { ...shipped, notificationId: 'order-8-shipped' },
      { ...shipped, recipient: 'bob@shop.example' },
      { ...shipped, templateVersion: 3 },
    ].map(one => notification(one).key)
    assert.equal(new Set(keys).size, keys.length)
  })

  test('is refused where a part is missing: two notifications would be one', () => {
    for (const field of ['notificationId', 'recipient', 'templateVersion'])
      for (const value of [undefined, null, '', Number.NaN, {}])
        assert.throws(
          () => notification({ ...shipped, [field]: value } as never),
          new RegExp(`notification: ${field} is missing`),
        )
  })
})
