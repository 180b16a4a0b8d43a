import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { createRabbitPublisher } from '../../src/drivers/rabbitmq/index.ts'
import type { OncewardError } from '../../src/errors.ts'
import { skipWithout } from '../services/services.ts'
import { createTestQueue, manage, openQueue, text, until } from './broker.ts'

interface Node {
  readonly name: string
  readonly os_pid: string
}

/**
 * Runs `rabbitmqctl eval` inside the broker's own root and mounts; only possible where its process is ours to
 * enter.
 */
async function evaluate(node: Node, expression: string): Promise<void> {
  const environment = readFileSync(`/proc/${node.os_pid}/environ`, 'utf8')
    .split('\0')
    .filter(line => /^(PATH|HOME|LANG|RABBITMQ_NODENAME|ERL_EPMD_PORT)=/.test(line))
  const enter = ['--target', node.os_pid, '--mount', '--root', 'env', '-i', ...environment]
  await promisify(execFile)('nsenter', [...enter, '/usr/sbin/rabbitmqctl', 'eval', expression])
}

async function whyNot(node: Node | null): Promise<string | null> {
  if (node === null) return 'the management plugin does not say which process the broker is'
  const command = `/proc/${node.os_pid}/cmdline`
  const ours =
    process.getuid?.() === 0 &&
    existsSync(command) &&
    readFileSync(command, 'utf8').includes(node.name.split('@')[0]!)
  return ours
    ? null
    : 'a memory alarm can only be raised on a broker started by scripts/services without Docker'
}

const alarm = '{resource_limit, memory, node()}'

describe('rabbitmq memory alarm', await skipWithout('rabbitmq'), () => {
  it('stops publishers but not acknowledgements, and late publishes are reported as unconfirmed', async t => {
    const nodes = (await manage('GET', 'nodes').catch(() => [])) as Node[]
    const node = nodes[0] ?? null
    const reason = await whyNot(node)
    if (reason !== null) return t.skip(reason)

    const queue = await createTestQueue(t)
    const { subscription, take } = await openQueue(t, queue.name, { url: queue.url }, { inFlightMax: 2 })
    const publisher = createRabbitPublisher({ url: queue.url, confirmTimeoutMs: 2_000 })
    t.after(() => publisher.close())
    const publish = (messageId: string) =>
      publisher.publish([{ queue: queue.name, messageId, body: Buffer.from(messageId) }])
    await queue.send('a', 'b', 'c', 'd')
    const held = await take(2)

    // Raised and cleared by one call, so that a failing test cannot leave the alarm on.
    const raised = evaluate(
      node!,
      `rabbit_alarm:set_alarm({${alarm}, []}), timer:sleep(10000), rabbit_alarm:clear_alarm(${alarm}).`,
    )
    const [blocked] = await until(
      () => publish('e'),
      ([result]) => result !== 'confirmed',
    )
    assert.equal((blocked as OncewardError).code, 'publish_unconfirmed')
    let answered = false
    const during = publish('g').finally(() => {
      answered = true
    })
    await subscription.settle(held)
    // Room for two: these come only because the broker has taken the acks.
    const next = await take(2)
    assert.deepEqual(text(next), ['c', 'd'])
    assert.equal(answered, false)
    const [stillBlocked] = await during
    assert.equal((stillBlocked as OncewardError).code, 'publish_unconfirmed')
    await raised
    await until(
      () => publish('f'),
      ([result]) => result === 'confirmed',
    )
  })
})
