import { useSignal } from '@preact/signals'
import type { Json } from '../api.ts'
import { type CampaignAct, CampaignActs } from '../parts/campaign-acts.tsx'
import { CompareCard, FindingsCard, PlanCard } from '../parts/campaign-cards.tsx'
import { Card, Head } from '../parts/layout.tsx'
import { LoadedPage, useLoad } from '../parts/load.tsx'
import { count } from '../parts/numbers.ts'
import { Bar } from '../parts/outcomes.tsx'
import { Badge, Facts, Who } from '../parts/text.tsx'
import { duration, Time } from '../parts/time.tsx'

const up = ['campaigns', 'Campaigns'] as const

export function CampaignPage({ id }: { readonly id: string }) {
  const load = useLoad(`campaigns/${encodeURIComponent(id)}`, 'live')
  return (
    <LoadedPage of={load} title={`Campaign ${id}`} up={up}>
      {found => <Campaign of={found} reload={load.reload} />}
    </LoadedPage>
  )
}

function Campaign({ of, reload }: { readonly of: Json; readonly reload: () => void }) {
  const { campaign, progress } = of
  const preview = useSignal<Json | null>(null)
  const compared = useSignal<Json | null>(null)
  const onAnswer = (act: CampaignAct, answer: Json) => {
    if (act === 'preview') preview.value = answer
    if (act === 'compare') compared.value = answer
    reload()
  }
  return (
    <div class="stack">
      <Head
        title={`Campaign ${campaign.id}: ${campaign.mode} of ${campaign.consumer}`}
        up={up}
        about={<bdi>{campaign.reason}</bdi>}
      >
        <Badge state={campaign.state} />
      </Head>
      <Steps of={campaign} />
      {of.note !== null && of.note !== undefined && <p class="notice warn">{of.note}</p>}
      {campaign.failure !== null && campaign.failure !== undefined && (
        <p class="notice crit">{campaign.failure}</p>
      )}
      <CampaignActs of={of} onAnswer={onAnswer} />
      {progress !== null && progress.extent > 0 && <Progress of={progress} />}
      {compared.value !== null && <CompareCard of={compared.value} />}
      <div class="columns">
        <div class="stack">
          <PlanCard of={campaign} preview={preview.value} />
          <FindingsCard rows={of.findings} more={progress?.findings ?? 0} />
        </div>
        <div class="stack">
          <About of={campaign} />
          <Events rows={of.events} />
        </div>
      </div>
    </div>
  )
}

/** The way of a campaign. A rebuild swaps before it finishes. */
function Steps({ of }: { readonly of: Json }) {
  const way = [
    'created',
    'previewed',
    'running',
    'ran',
    'verified',
    ...(of.mode === 'rebuild' ? ['swapped'] : []),
    'finished',
  ]
  const state = of.state === 'paused' || of.state === 'failed' ? 'running' : of.state
  const at = way.indexOf(state)
  return (
    <ol class="steps" aria-label="Steps">
      {way.map((step, index) => (
        <li class={index < at ? 'past' : ''} aria-current={index === at ? 'step' : undefined}>
          {step === state && of.state !== state ? `${step} (${of.state})` : step}
          {step === 'previewed' && of.needsApproval && of.approvedBy === null && ', to approve'}
        </li>
      ))}
    </ol>
  )
}

function Progress({ of }: { readonly of: Json }) {
  return (
    <section class="card" aria-label="Progress">
      <div class="in stack tight">
        <Bar total={of.extent} parts={[[of.done, '']]} />
        <div class="row">
          <b>
            {count(of.done)} of {count(of.extent)}
          </b>
          {Object.entries(of.outcomes as Record<string, number>).map(([outcome, value]) => (
            <Badge state={outcome}>
              {count(value)} {outcome}
            </Badge>
          ))}
          <span class="small muted">
            ran {duration(of.secondsRun)}
            {of.secondsLeft !== null && `, about ${duration(of.secondsLeft)} left`}
            {of.suppressedEffects > 0 && ` · ${count(of.suppressedEffects)} effects suppressed`}
          </span>
        </div>
      </div>
    </section>
  )
}

function About({ of }: { readonly of: Json }) {
  return (
    <Card title="Request">
      <Facts
        of={{
          consumer: <a href={`consumers/${encodeURIComponent(of.consumer)}`}>{of.consumer}</a>,
          generation:
            of.generation === of.liveGeneration
              ? String(of.generation)
              : `${of.generation}, live ${of.liveGeneration}`,
          risk: of.risk,
          'external effects': of.effects,
          'at most per second': of.rateMax === null ? null : count(of.rateMax),
          'requested by': (
            <>
              <Who actor={of.requestedBy} /> · <Time at={of.requestedAt} />
            </>
          ),
          'approved by': of.approvedBy && (
            <>
              <Who actor={of.approvedBy} />, until <Time at={of.approvalExpiresAt} />
            </>
          ),
          plan: of.planDigest && <code>{of.planDigest}</code>,
        }}
      />
    </Card>
  )
}

function Events({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Card title="History">
      <ol class="timeline">
        {rows.map(row => (
          <li class="person">
            <div class="what">
              <b>{row.did}</b>
              <span class="small">
                <Time at={row.at} both />
              </span>
            </div>
            <div class="small">
              <bdi>{row.detail}</bdi>
            </div>
            <div class="small muted">
              by <Who actor={row.actor} />
            </div>
          </li>
        ))}
      </ol>
    </Card>
  )
}
