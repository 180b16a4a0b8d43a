import assert from 'node:assert/strict'
import type { Command } from 'commander'
import { selectionOf } from '../../../src/cli/commands/replay/selection-flags.ts'
import { labelsOf } from '../../../src/cli/load-declared.ts'
import { safe } from '../../../src/cli/output.ts'
import { createProgram } from '../../../src/cli/program.ts'
import { processCount, rowNumber, secondsMs, wholeNumber } from '../../../src/cli/whole-number.ts'
import { durationMs, durationText } from '../../../src/contract/duration.ts'
import { readPolicy } from '../../../src/contract/policy/read-policy.ts'
import { readSize, sizeText } from '../../../src/contract/policy/read-size.ts'
import { urlProblems } from '../../../src/contract/url-problems.ts'
import { readLines } from '../../../src/drivers/file/read-lines.ts'
import { addressOf, virtualHostOf } from '../../../src/drivers/rabbitmq/address.ts'
import { readAddress } from '../../../src/drivers/rabbitmq-stream/address.ts'
import { withTls } from '../../../src/drivers/tls/tls-url.ts'
import { OncewardError } from '../../../src/errors.ts'
import { everyUrl, hostsOf } from '../../../src/ports/broker-url.ts'
import { nearestName } from '../../../src/ports/nearest-name.ts'
import { readRow, recordOf } from '../../../src/replay/archive/archived-row.ts'
import { refusalBy } from '../../docs/cli-words.ts'
import { orRefused, type Target } from '../target.ts'

const ours = (error: Error) => error instanceof OncewardError

const durations: Target = {
  name: 'durations and sizes',
  kind: 'text',
  seeds: ['90s', '36h', '1.5d', '30 d', '1000y', '512B', '64KiB', '1.5GiB', '7'],
  words: ['ms', 's', 'm', 'h', 'd', 'w', 'y', 'KiB', 'MiB', 'GiB', 'B', '.', '999999999999999'],
  check(input) {
    const given = input.toString('utf8')
    const ms = durationMs(given)
    if (ms !== null) assert.ok(Number.isSafeInteger(ms) && durationMs(durationText(ms)) !== null)
    const bytes = readSize(given)
    if (bytes !== null) assert.equal(readSize(sizeText(bytes)), bytes)
    for (const read of [wholeNumber, rowNumber, secondsMs])
      orRefused<unknown>(() => read(given, 'count', 'onceward status'), ours)
    orRefused(() => processCount(given, 'onceward run'), ours)
    orRefused(() => labelsOf([given]), ours)
  },
}

const urls: Target = {
  name: 'urls',
  kind: 'text',
  seeds: [
    'amqp://user:password@a,b:5673,[::1]/vhost?heartbeat=5',
    'amqps://a/%2F?verify=verify_none&cacertfile=/x',
    'rabbitmq-stream+tls://user:pa%40ss@a:5551,b/v?connection_timeout=500',
    'rabbitmq-stream://a',
    'https://user@one.example:8443/path',
  ],
  words: [
    'amqp://',
    'rabbitmq-stream://',
    '+tls',
    '@',
    ',',
    '[',
    ']',
    '%',
    '%zz',
    '?heartbeat=',
    'connection_timeout=',
    '/',
    '#',
    ':',
  ],
  check(input) {
    const given = input.toString('utf8')
    assert.equal(hostsOf(given, 5672).length, everyUrl(given).length)
    orRefused(() => addressOf(given), ours)
    orRefused(() => virtualHostOf(given), ours)
    orRefused(() => readAddress(given, 'The stream'), ours)
    orRefused(() => withTls(given, { caFile: '/ca.pem' } as never), ours)
    urlProblems('target', { url: given }, () => {})
    nearestName(given.slice(0, 60), ['parked', 'redrive', 'status'])
    safe(given)
  },
}

const policies: Target = {
  name: 'policy files',
  kind: 'text',
  seeds: [
    'defaults:\n  failure:\n    mode: park\nconsumers:\n  orders:\n    failure:\n      attempts: 3\n',
    'waivers:\n  - rule: OW101\n    consumer: orders\n    reason: "because"\n    until: 2027-01-01\n',
    'sources:\n  a: &x { failure: { retryDelay: 5s } }\n  b: *x\n',
    'deliverySemantics:\n  topics:\n    - name: a\n      duplicates: possible\n',
  ],
  words: [
    'defaults:',
    'consumers:',
    'sources:',
    'waivers:',
    '\n  ',
    '- ',
    ': ',
    '&x',
    '*x',
    '<<: ',
    '!!js',
    '|\n',
    '"',
    '$' + '{env:A}',
    '{',
    '[',
    '# ',
    '---\n',
    '\t',
  ],
  check(input) {
    const policy = readPolicy(input, 'onceward.yaml')
    for (const { text, line } of policy.problems) assert.ok(text.length > 0 && line >= 1)
  },
}

/** Words after `onceward`, one per line. No action runs. */
let program: Promise<Command> | null = null
const commandLines: Target = {
  name: 'command lines',
  kind: 'text',
  seeds: [
    'status\n--json',
    'parked\nlist\n--consumer\norders\n--since\n2h',
    'replay\npreview\n--from\nx',
    'ledger\nlist',
    'run\na.ts\n--processes\n2',
  ],
  words: [
    '\n--json',
    '\n--consumer\n',
    '\nparked',
    '\nredrive',
    '\n--',
    '\n-h',
    '\n--help',
    '=',
    '\n--since\n',
    '\n--ids\n',
    '\n--version',
  ],
  bytesMax: 400,
  async check(input) {
    program ??= createProgram().then(quiet)
    const ready = await program
    const { exit } = process
    process.exit = () => assert.fail('help or version')
    try {
      const refusal = await refusalBy(ready, input.toString('utf8').split('\n'))
      if (refusal !== null) assert.doesNotMatch(refusal, /is not a function|Cannot read/)
    } finally {
      process.exit = exit
    }
  },
}

function quiet(made: Command): Command {
  for (const command of [made, ...made.commands.flatMap(one => [one, ...one.commands])])
    command.configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
  return made
}

/** Every byte of a file is in one line, wherever chunks end. */
const lines: Target = {
  name: 'lines of a file',
  kind: 'text',
  seeds: ['{"id":1}\n{"id":2}\r\n\n{"id":3}', '\n\n', 'x'.repeat(120)],
  words: ['\n', '\r\n', '\r'],
  async check(input) {
    const found: string[] = []
    let at = 0
    for (let rounds = 0; rounds <= input.length + 1; rounds++) {
      const part = await readLines(handleOf(input) as never, at, 64, true)
      for (const { body, bytes } of part.lines) found.push(`${bytes} ${body.toString('latin1')}`)
      assert.ok(part.next >= at)
      if (part.atEnd || part.next === at) break
      at = part.next
    }
    const wanted = input
      .toString('latin1')
      .split('\n')
      .map(line =>
        line.length > 64 ? `${line.length} ${line.slice(0, 64)}` : sizedLine(line.replace(/\r$/, '')),
      )
      .filter(line => line !== '0 ')
    assert.deepEqual(found, wanted)
  },
}

const sizedLine = (line: string) => `${line.length} ${line}`

function handleOf(bytes: Buffer) {
  return {
    async read(into: Buffer, offset: number, length: number, position: number) {
      return { bytesRead: bytes.copy(into, offset, position, Math.min(bytes.length, position + length)) }
    },
  }
}

const archived = {
  id: '7',
  message_id: 'a',
  digest: '00'.repeat(33),
  first_at: '2026-01-01T00:00:00Z',
  code: 'c',
  origin: 'q',
  position: null,
  broker_key: null,
  headers: { a: { $bytes: 'aGk=' } },
  properties: { timestampMs: 1 },
  body: 'aGk=',
}

const archives: Target = {
  name: 'archived rows',
  kind: 'json',
  seeds: [archived, { ...archived, message_id: null, position: 'a@1', generation: 2 }],
  words: Object.keys(archived),
  check(input) {
    const row = orRefused(() => readRow(input, 'line 1'), ours)
    if (row !== null) assert.ok(recordOf(row, 1, 'line 1').body.length <= input.length)
  },
}

/** The edges of a replay, one per line: times, or a place in each partition. */
const edges: Target = {
  name: 'replay edges',
  kind: 'text',
  seeds: [
    'first\nnow',
    'orders/0=12,orders/1=7\norders/0=900719925474099',
    '2026-11-15T08:00:00Z\n2026-11-16',
    '/var/log/a=b.jsonl=0\nnow',
    'parked\nnow',
  ],
  words: ['first', 'now', 'parked', '=', ',', '/', '__proto__=1', '-1', '1e3', '999999999999999', 'Z', '\n'],
  check(input) {
    const [from = '', to = ''] = input.toString('utf8').split('\n')
    const selection = orRefused(() => selectionOf({ from, to }), ours)
    if (selection?.of !== 'log') return
    for (const edge of [selection.start, selection.end]) {
      if (typeof edge === 'string') continue
      const numbers = 'offsets' in edge ? Object.values(edge.offsets) : [edge.timestampMs]
      for (const number of numbers) assert.ok(Number.isSafeInteger(number), String(number))
    }
  },
}

export const textTargets = [durations, urls, policies, commandLines, lines, archives, edges]
