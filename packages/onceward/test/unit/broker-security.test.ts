import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kafkaAddress, rabbitAddress } from '../../src/drivers/broker-addresses.ts'
import { brokerSecurity } from '../../src/drivers/broker-security.ts'
import { splitTls, withTls } from '../../src/drivers/tls/tls-url.ts'

test('without variables nothing is changed', () => {
  assert.deepEqual(brokerSecurity({}), {})
  assert.deepEqual(brokerSecurity({ ONCEWARD_KAFKA_CA_FILE: '', ONCEWARD_KAFKA_SASL_MECHANISM: '' }), {})
})

test('one scheme of variables for RabbitMQ and Kafka', () => {
  const variables = (prefix: string) => ({
    [`${prefix}_CA_FILE`]: 'ca.pem',
    [`${prefix}_CERT_FILE`]: 'cert.pem',
    [`${prefix}_KEY_FILE`]: 'key.pem',
    [`${prefix}_KEY_PASSPHRASE`]: 'secret',
    [`${prefix}_TLS_SERVERNAME`]: 'broker.test',
  })
  const tls = {
    ca: 'ca.pem',
    cert: 'cert.pem',
    key: 'key.pem',
    passphrase: 'secret',
    servername: 'broker.test',
  }
  assert.deepEqual(brokerSecurity(variables('ONCEWARD_RABBITMQ')), { rabbitmqTls: tls })
  assert.deepEqual(brokerSecurity(variables('ONCEWARD_KAFKA')), { kafkaTls: tls })
  assert.deepEqual(brokerSecurity({ ONCEWARD_KAFKA_TLS: 'true' }), { kafkaTls: true })
})

test('an incomplete login is refused, and no value is repeated', () => {
  const name = 'ONCEWARD_KAFKA_SASL'
  const whole = {
    [`${name}_MECHANISM`]: 'PLAIN',
    [`${name}_USERNAME`]: 'alice',
    [`${name}_PASSWORD`]: 'alice-secret',
  }
  assert.deepEqual(brokerSecurity(whole).kafkaSasl, {
    mechanism: 'PLAIN',
    username: 'alice',
    password: 'alice-secret',
  })
  const refused = (changes: Record<string, string>, says: RegExp) =>
    assert.throws(
      () => brokerSecurity({ ...whole, ...changes }),
      (error: Error) => says.test(error.message) && !/secret|alice/.test(error.message),
    )
  refused({ [`${name}_MECHANISM`]: '' }, /MECHANISM is missing/)
  refused({ [`${name}_MECHANISM`]: 'alice' }, /must be PLAIN/)
  refused({ [`${name}_USERNAME`]: '' }, /USERNAME is missing/)
  refused({ [`${name}_PASSWORD`]: '' }, /PASSWORD_FILE is missing/)
  refused({ [`${name}_MECHANISM`]: 'OAUTHBEARER' }, /TOKEN_FILE is missing/)
  refused({ ONCEWARD_KAFKA_TLS: 'yes' }, /true or false/)
})

test('the contract overrides the address, which overrides the environment', () => {
  const environment = { rabbitmqTls: { ca: 'of-environment' } }
  const caOf = (declared: object, url: string) =>
    splitTls(rabbitAddress(declared, url, environment)!, 'A test').tls.ca
  assert.equal(caOf({ tls: { ca: 'of-contract' } }, 'amqps://host?cacertfile=of-address'), 'of-contract')
  assert.equal(caOf({}, 'amqps://host?cacertfile=of-address'), 'of-address')
  assert.equal(caOf({}, 'amqps://host'), 'of-environment')
  assert.equal(caOf({}, 'amqp://host'), undefined)
  assert.equal(rabbitAddress({}, undefined, environment), undefined)
  const kafka = { kafkaTls: true, kafkaSasl: { mechanism: 'PLAIN', username: 'a', password: 'b' } } as const
  assert.deepEqual(kafkaAddress({}, 'k:1', kafka), { bootstrap: 'k:1', tls: true, sasl: kafka.kafkaSasl })
  assert.deepEqual(kafkaAddress({ tls: false }, 'k:1', { kafkaTls: true }), { bootstrap: 'k:1', tls: false })
  assert.equal(kafkaAddress({}, undefined, kafka), null)
})

test('settings put into an address are read back, PEM included, and the rest of it stays', () => {
  const ca = '-----BEGIN CERTIFICATE-----\na+b/c=&d\n-----END CERTIFICATE-----\n'
  const tls = { ca, passphrase: 'p&=?# ö' }
  const { url, ...rest } = splitTls(withTls('amqps://u:p%40@host:5671/%2F?heartbeat=7', tls), 'A test')
  assert.equal(url, 'amqps://u:p%40@host:5671/%2F?heartbeat=7')
  assert.deepEqual(rest, { tls, external: false })
})
