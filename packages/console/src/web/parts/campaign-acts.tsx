import { useSignal } from '@preact/signals'
import { get, type Json, post } from '../api.ts'
import { may } from '../session.ts'
import { AskReason } from './ask-reason.tsx'
import { report } from './done.tsx'
import { Problem } from './layout.tsx'
import { type Accepted, swapFlags } from './shell.ts'
import { nothingAccepted, SwapChoices } from './swap-choices.tsx'
import { Command } from './text.tsx'

export type CampaignAct =
  | 'preview'
  | 'approve'
  | 'run'
  | 'pause'
  | 'cancel'
  | 'verify'
  | 'compare'
  | 'swap'
  | 'rollback'
  | 'finish'

interface Words {
  readonly title: string
  readonly role: string
  readonly meaning?: string
  readonly danger?: boolean
  /** The audit records the act without one. */
  readonly withoutReason?: boolean
}

/** Acts with a meaning are confirmed first; the others change nothing that people lose. */
const words: Readonly<Record<CampaignAct, Words>> = {
  preview: { title: 'Preview', role: 'operator' },
  approve: {
    title: 'Approve…',
    role: 'approver',
    meaning: 'You approve exactly this plan for 24 hours. Another plan needs another approval.',
  },
  run: {
    title: 'Run…',
    role: 'operator',
    withoutReason: true,
    meaning: 'It runs in this console and continues where it was. Applied messages are skipped.',
  },
  pause: { title: 'Pause…', role: 'operator', meaning: 'It stops after the batch at work, and can go on.' },
  cancel: {
    title: 'Cancel it…',
    role: 'operator',
    danger: true,
    meaning: 'It ends. Messages already applied stay applied.',
  },
  verify: { title: 'Verify', role: 'operator' },
  compare: { title: 'Compare the tables', role: 'operator' },
  swap: {
    title: 'Swap the tables…',
    role: 'admin',
    danger: true,
    meaning: 'The rebuilt tables become live in one transaction. The old ones are kept until it is finished.',
  },
  rollback: {
    title: 'Roll back…',
    role: 'admin',
    danger: true,
    withoutReason: true,
    meaning: 'The old tables become live again. What was applied since the swap is discarded and replayed.',
  },
  finish: {
    title: 'Finish…',
    role: 'operator',
    withoutReason: true,
    meaning: 'The campaign is closed. A rebuild drops its old tables.',
  },
}
/** Done without a dialog, which would show the command. */
const isDirect = (act: CampaignAct) => words[act].meaning === undefined

/** What these need beside the contract is a login that may write tables; the server has it or not. */
const needsLogin: readonly CampaignAct[] = ['run', 'compare', 'swap', 'rollback']

/** The next step on the way of a campaign is the first of these that its state allows. */
const forward: readonly CampaignAct[] = ['finish', 'verify', 'run', 'approve', 'preview']

type OnAnswer = (act: CampaignAct, answer: Json) => void

export function CampaignActs({ of, onAnswer }: { readonly of: Json; readonly onAnswer: OnAnswer }) {
  const asked = useSignal<Asked | null>(null)
  const busy = useSignal<CampaignAct | null>(null)
  const problem = useSignal<string | null>(null)
  const allowed = (of.acts as readonly CampaignAct[]).filter(act => may(words[act].role))
  const here = allowed.filter(act => of.canRun || !needsLogin.includes(act))
  const elsewhere = allowed.filter(act => !here.includes(act))
  const next = forward.find(act => here.includes(act) && !(act === 'approve' && of.mine))
  const direct = async (act: CampaignAct) => {
    busy.value = act
    try {
      onAnswer(act, await send(of, act, '', nothingAccepted))
      problem.value = null
    } catch (error) {
      problem.value = (error as Error).message
    }
    busy.value = null
  }
  return (
    <>
      <div class="row" role="toolbar" aria-label="Acts on this campaign">
        {here.map(act => (
          <button
            key={act}
            type="button"
            class={`button ${act === next ? 'primary' : words[act].danger ? 'danger' : ''}`}
            disabled={busy.value !== null}
            onClick={() => (isDirect(act) ? void direct(act) : (asked.value = { act, of }))}
          >
            {busy.value === act ? 'Working…' : words[act].title}
          </button>
        ))}
        {of.mine && here.includes('approve') && (
          <span class="small muted">You requested this: another person approves it.</span>
        )}
      </div>
      <Problem text={problem.value} />
      {elsewhere.map(act => (
        <Command text={of.commands[act]} />
      ))}
      {here.some(isDirect) && (
        <details class="small muted">
          <summary>The same on the command line</summary>
          {here.filter(isDirect).map(act => (
            <Command text={of.commands[act]} label={false} />
          ))}
        </details>
      )}
      {asked.value !== null && (
        <ConfirmAct {...asked.value} close={() => (asked.value = null)} onAnswer={onAnswer} />
      )}
    </>
  )
}

/** The campaign as it was when its act was asked for: another plan is refused, not approved unread. */
interface Asked {
  readonly act: CampaignAct
  readonly of: Json
}

function ConfirmAct(props: Asked & { readonly close: () => void; readonly onAnswer: OnAnswer }) {
  const { act, of, close, onAnswer } = props
  const accepted = useSignal<Accepted>(nothingAccepted)
  const { title, meaning, danger = false, withoutReason = false } = words[act]
  const name = title.replace('…', '')
  return (
    <AskReason
      title={name}
      verb={name}
      danger={danger}
      asksReason={!withoutReason}
      command={act === 'swap' ? `${of.commands.swap}${swapFlags(accepted.value)}` : of.commands[act]}
      close={close}
      act={async because => {
        onAnswer(act, await send(of, act, because, accepted.value))
        report(`Campaign ${of.campaign.id}: ${act} is recorded.`)
      }}
    >
      <p class="muted">{meaning}</p>
      {act === 'swap' && (
        <SwapChoices
          tables={of.campaign.plan?.tables ?? []}
          of={accepted.value}
          set={change => (accepted.value = change)}
        />
      )}
    </AskReason>
  )
}

function send({ campaign }: Json, act: CampaignAct, because: string, accepted: Accepted): Promise<Json> {
  const path = `campaigns/${campaign.id}/${act}`
  if (act === 'compare') return get(path)
  if (act === 'preview') return post(path, { dryRun: false })
  if (act === 'verify') return post(path, {})
  if (act === 'swap') return post(path, { because, ...accepted })
  return post(path, act === 'approve' ? { planDigest: campaign.planDigest, because, hours: 24 } : { because })
}
