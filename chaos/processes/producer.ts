import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { type PlannedMessage, planMessages } from '../plan/messages.ts'
import { openSender } from '../sending/sender.ts'
import { endWithParent, readSettings, report } from './settings.ts'

const batchMax = 40

/**
 * Sends the plan in batches with at most one message of a key, and waits for the confirm of each batch: only
 * so has the producer established an order. A batch without a confirm is sent again, so the broker may have
 * it twice.
 */
async function produce(): Promise<void> {
  const settings = readSettings()
  const plan = planMessages(settings.messages, settings.seed, settings.cell.source)
  const sender = await openSender(settings)
  const began = performance.now()
  for (let sent = 0; sent < plan.length; ) {
    const due = Math.ceil(((performance.now() - began) / settings.produceMs) * plan.length)
    const batch = nextBatch(plan, sent, Math.min(plan.length, due))
    if (batch.length === 0) {
      await wait(20)
      continue
    }
    note(settings.sendLog, 'sending', batch, sent)
    const aborted = batch.filter(({ kind }) => kind === 'aborted')
    const plain = batch.filter(({ kind }) => kind !== 'aborted')
    if (aborted.length > 0) await sender.abort(aborted).catch(complain)
    if (plain.length > 0) await untilConfirmed(() => sender.send(plain))
    note(settings.sendLog, 'confirmed', batch, sent)
    sent += batch.length
    report({ kind: 'progress', share: sent / plan.length })
  }
  await sender.close()
}

function nextBatch(plan: readonly PlannedMessage[], from: number, to: number): PlannedMessage[] {
  const keys = new Set<string>()
  const batch: PlannedMessage[] = []
  for (const message of plan.slice(from, Math.min(to, from + batchMax))) {
    if (message.key !== null && keys.has(message.key)) break
    if (message.key !== null) keys.add(message.key)
    batch.push(message)
  }
  return batch
}

async function untilConfirmed(send: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await send()
    } catch (error) {
      complain(error)
      await wait(200)
    }
  }
}

function complain(error: unknown): void {
  process.stderr.write(`${new Date().toISOString()} ${String(error)}\n`)
}

function note(
  file: string,
  what: 'sending' | 'confirmed',
  batch: readonly PlannedMessage[],
  from: number,
): void {
  const lines = batch.map((message, n) => {
    const { body: _, ...facts } = message
    return JSON.stringify({ what, place: from + n, ...facts })
  })
  appendFileSync(file, `${lines.join('\n')}\n`)
}

endWithParent()
await produce()
process.disconnect()
