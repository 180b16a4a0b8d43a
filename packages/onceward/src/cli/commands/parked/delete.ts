import { Command } from 'commander'
import type { DeletionRequest } from '../../../drivers/postgres/parking/read-approvals.ts'
import {
  approveRequest,
  declineRequest,
  deleteParked,
  listApprovals,
  requestDeletion,
} from '../../../operations/parking/delete-parked.ts'
import { withPool } from '../../database.ts'
import { counted, print } from '../../output.ts'
import { table } from '../../table.ts'
import { rowNumber, wholeNumber } from '../../whole-number.ts'
import { acting, lister } from './flags.ts'
import { confirmedSelection, type ParkedActFlags } from './preview.ts'

type Flags = { json?: boolean }

export function deleteCommand(): Command {
  const command = new Command('delete')
    .description(
      'request the deletion of messages. A second person approves the request, then "parked erase" deletes them',
    )
    .argument('[ids...]', 'ids from "onceward parked list"; or select by options')
    .option('--hours <count>', 'how long the request is valid', '24')
  return acting(command, '1000').action((ids: string[], flags: ParkedActFlags & { hours: string }) =>
    withPool(flags.json === true, async pool => {
      const selection = await confirmedSelection(pool, ids, flags, 'delete')
      if (selection === null) return
      const { consumer, because } = flags
      const seconds = wholeNumber(flags.hours, '--hours', lister) * 3600
      const approval = await requestDeletion(pool, { consumer, because, ...selection }, seconds)
      print(
        flags.json === true,
        { ok: true, approval },
        () =>
          `Requested the deletion of ${counted(approval.rows, 'message')}: request ${approval.id}. Nothing is deleted yet. A second person must approve it before ${approval.expiresAt.toISOString()}:\n  onceward parked approve ${approval.id} --expect ${approval.digest} --because '…'\nThen this deletes:\n  onceward parked erase ${approval.id} --consumer ${consumer}`,
      )
    }),
  )
}

export function approvalsCommand(): Command {
  return new Command('approvals')
    .description('list requests that need a second person, newest first')
    .option('--limit <count>', 'maximum number of requests', '50')
    .option('--json', 'print one JSON object')
    .action((flags: Flags & { limit: string }) =>
      withPool(flags.json === true, async pool => {
        const approvals = await listApprovals(pool, {
          countMax: wholeNumber(flags.limit, '--limit', lister),
        })
        print(flags.json === true, { ok: true, approvals }, () => approvalTable(approvals))
      }),
    )
}

export function approveCommand(): Command {
  return new Command('approve')
    .description('approve a deletion or a fixed payload that another person requested')
    .argument('<request>', 'request id, from "onceward parked approvals"')
    .requiredOption('--expect <digest>', 'digest of the request; of a fix, SHA-256 of the new bytes')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags & { expect: string; because: string }) =>
      withPool(flags.json === true, async pool => {
        rowNumber(id, 'request id', 'onceward parked approvals')
        const approval = await approveRequest(pool, id, flags.expect, flags.because)
        print(flags.json === true, { ok: true, approval }, () => `Request ${id} was approved.`)
      }),
    )
}

export function declineCommand(): Command {
  return new Command('decline')
    .description(
      'decline a request of another person, or withdraw your own; it can never be approved after that',
    )
    .argument('<request>', 'request id, from "onceward parked approvals"')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags & { because: string }) =>
      withPool(flags.json === true, async pool => {
        rowNumber(id, 'request id', 'onceward parked approvals')
        const approval = await declineRequest(pool, id, flags.because)
        print(flags.json === true, { ok: true, approval }, () => `Request ${id} was declined.`)
      }),
    )
}

export function eraseCommand(): Command {
  return new Command('erase')
    .description(
      'delete the messages of an approved request of "parked delete"; id and digest stay in the audit',
    )
    .argument('<request>', 'request id, from "onceward parked approvals"')
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags & { consumer: string }) =>
      withPool(flags.json === true, async pool => {
        rowNumber(id, 'request id', 'onceward parked approvals')
        const { closed, freed } = await deleteParked(pool, { id, consumer: flags.consumer })
        print(
          flags.json === true,
          { ok: true, closed, freed },
          () => `${closed} deleted, ${freed} behind them released.`,
        )
      }),
    )
}

function approvalTable(approvals: readonly DeletionRequest[]): string {
  if (approvals.length === 0) return 'There are no requests.'
  const heads = [
    'request',
    'verb',
    'consumer',
    'rows',
    'state',
    'requested by',
    'until',
    'approved by',
    'because',
    'digest',
  ]
  const rows = approvals.map(a => [
    a.id,
    a.verb,
    a.consumer,
    a.rows,
    a.state,
    a.requestedBy,
    a.expiresAt.toISOString().slice(0, 19),
    a.approvedBy,
    a.because,
    a.digest,
  ])
  const fix = approvals.find(({ verb, state }) => verb === 'fix' && state === 'requested')
  const next = fix === undefined ? '' : `\n\nnext: onceward parked show ${fix.ids[0]} --fixes`
  return `${table(heads, rows)}${next}`
}
