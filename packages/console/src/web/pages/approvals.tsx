import { useSignal } from '@preact/signals'
import type { Json } from '../api.ts'
import { ApproveDialog, DeclineDialog, EraseDialog } from '../parts/approve-dialog.tsx'
import { Card, Empty, Head, Table } from '../parts/layout.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { count, counted } from '../parts/numbers.ts'
import { Badge, Facts, Who } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'

/** The inbox of those who approve: what waits first, then what was decided. */
export function ApprovalsPage() {
  const load = useLoad('approvals', 'live')
  const campaigns = useLoad('campaigns?open=true', 'live')
  const asked = useSignal<Asked | null>(null)
  const ask = (one: Asked) => {
    asked.value = one
  }
  const waiting: readonly Json[] = (campaigns.value.value?.campaigns ?? []).filter(
    ({ waitsForApproval }: Json) => waitsForApproval,
  )
  return (
    <div class="stack">
      <Head title="Approvals" about="What needs a second person. The database refuses the requester." />
      <Loaded of={load}>
        {({ approvals }) => {
          const open = approvals.filter(({ state }: Json) => state === 'requested' || state === 'approved')
          const past = approvals.filter((one: Json) => !open.includes(one))
          return (
            <>
              {open.length + waiting.length === 0 && (
                <Card title="Requests" bare>
                  <Empty title="No request waits.">
                    Deletions, fixed payloads of risk money or regulatory, and campaigns appear here.
                  </Empty>
                </Card>
              )}
              {open.map((one: Json) => (
                <Request key={one.id} of={one} ask={ask} />
              ))}
              {waiting.map(one => (
                <CampaignRequest key={one.id} of={one} />
              ))}
              {past.length > 0 && <Past rows={past} />}
            </>
          )
        }}
      </Loaded>
      {asked.value !== null && (
        <AskedDialog asked={asked.value} close={() => (asked.value = null)} done={load.reload} />
      )}
    </div>
  )
}

/** The request as it was when its act was asked for. It stays when another person decides it meanwhile. */
interface Asked {
  readonly act: keyof typeof dialogs
  readonly of: Json
}

const dialogs = { approve: ApproveDialog, decline: DeclineDialog, erase: EraseDialog } as const

function AskedDialog(props: {
  readonly asked: Asked
  readonly close: () => void
  readonly done: () => void
}) {
  const { asked, close, done } = props
  const Shown = dialogs[asked.act]
  return <Shown of={asked.of} close={close} done={done} />
}

function titleOf({ verb, rows, consumer }: Json): string {
  return verb === 'fix'
    ? `A fixed payload of ${consumer}`
    : `Deletion of ${counted(rows, 'message')} of ${consumer}`
}

function Request({ of, ask }: { readonly of: Json; readonly ask: (one: Asked) => void }) {
  const isWaiting = of.state === 'requested'
  return (
    <Card title={titleOf(of)} side={<Badge state={of.state} />}>
      <div class="stack">
        <RequestFacts of={of} />
        <div class="row">
          {isWaiting && of.mine && <span class="muted">You requested this: another person approves it.</span>}
          {isWaiting && may('approver') && (
            <button
              class={`button ${of.mine ? '' : 'primary'}`}
              type="button"
              onClick={() => ask({ act: 'approve', of })}
            >
              Review and approve…
            </button>
          )}
          {isWaiting && (may('approver') || of.mine) && (
            <button class="button" type="button" onClick={() => ask({ act: 'decline', of })}>
              {of.mine ? 'Withdraw…' : 'Decline…'}
            </button>
          )}
          {of.state === 'approved' && of.verb === 'delete' && may('operator') && (
            <button class="button danger" type="button" onClick={() => ask({ act: 'erase', of })}>
              Erase…
            </button>
          )}
        </div>
      </div>
    </Card>
  )
}

function RequestFacts({ of }: { readonly of: Json }) {
  return (
    <Facts
      of={{
        reason: of.because,
        'requested by': (
          <>
            <Who actor={of.requestedBy} /> · <Time at={of.requestedAt} />
          </>
        ),
        messages: (
          <>
            {of.ids.slice(0, 20).map((id: string) => (
              <a href={`messages/${id}`}>{id} </a>
            ))}
            {of.rows > 20 && `and ${count(of.rows - 20)} more`}
          </>
        ),
        digest: <code>{of.digest}</code>,
        'approved by': of.approvedBy === null ? null : <Who actor={of.approvedBy} />,
        'valid until': of.state === 'requested' ? <Time at={of.expiresAt} both /> : null,
      }}
    />
  )
}

function CampaignRequest({ of }: { readonly of: Json }) {
  return (
    <Card title={`Campaign ${of.id}: ${of.mode} of ${of.consumer}`} side={<Badge state="requested" />}>
      <div class="stack">
        <Facts
          of={{
            reason: of.reason,
            'requested by': (
              <>
                <Who actor={of.requestedBy} /> · <Time at={of.requestedAt} />
              </>
            ),
            'external effects': of.effects,
          }}
        />
        <div class="row">
          <a class="button primary" href={`campaigns/${of.id}`}>
            Review the plan
          </a>
        </div>
      </div>
    </Card>
  )
}

function Past({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Card title="Decided" bare>
      <Table head={['Request', 'State', 'Requested', 'Decided by']}>
        {rows.map(one => (
          <tr>
            <td>
              {titleOf(one)}
              <span class="small muted cut">
                <bdi>{one.declinedBecause ?? one.because}</bdi>
              </span>
            </td>
            <td>
              <Badge state={one.state} />
            </td>
            <td>
              <Who actor={one.requestedBy} />
              <span class="exact">
                <Time at={one.requestedAt} />
              </span>
            </td>
            <td>
              <Who actor={one.approvedBy ?? one.declinedBy ?? null} />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}
