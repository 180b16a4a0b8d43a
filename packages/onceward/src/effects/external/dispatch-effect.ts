import type { LeasedEffect } from '../../drivers/postgres/ledger/lease-effects.ts'
import type { Environment, LogFields } from '../../environment.ts'
import type { Answer } from './answer.ts'
import { callTarget, queryTarget } from './call-target.ts'
import { type AnswerJudgement, judgeAnswer, judgement, notSent } from './judge-answer.ts'
import { reasonNotToCall, reasonToStop } from './reason-not-to-call.ts'
import type { TargetGate } from './target-gate.ts'

/** The result of one leased effect, and whether an earlier attempt may still have taken effect. */
export interface Attempted {
  readonly judged: AnswerJudgement
  readonly doubtful: boolean
}

export interface DispatchContext {
  readonly env: Environment
  readonly consumer: string
  readonly leaving: AbortSignal
  /** When the lease was requested. It began no earlier. */
  readonly requestedMs: number
  readonly logFields: LogFields
  readonly onCall: () => void
}

/**
 * Stops, queries or calls, in this order. For an effect that may have happened, the target's policy decides
 * first.
 */
export async function dispatchEffect(
  effect: LeasedEffect,
  gate: TargetGate,
  context: DispatchContext,
): Promise<Attempted> {
  const { target } = gate
  const stop = reasonToStop(effect, target)
  if (stop !== null) return { judged: stop, doubtful: effect.doubtful }
  const queried = effect.doubtful && target.policy === 'query first'
  if (queried) {
    const found = await query(effect, gate, context)
    if (found !== null) return { judged: found, doubtful: effect.doubtful }
  }
  const doubtful = effect.doubtful && !queried
  const { clock } = context.env
  const notCalled = reasonNotToCall(effect, target, clock.nowMs() - context.requestedMs)
  return { judged: notCalled ?? (await call(effect, gate, context)), doubtful }
}

/** Null when the target reports that it was not done: it may be called again. */
async function query(
  effect: LeasedEffect,
  { target }: TargetGate,
  { env, leaving }: DispatchContext,
): Promise<AnswerJudgement | null> {
  const { answer, note } = await queryTarget(target, effect, env, leaving)
  if (!leaving.aborted) env.reach('dispatch.queried')
  if (answer === 'not done') return null
  if (answer === 'unknown') return notSent(note ?? '', 'unknown')
  return {
    ...judgement('completed', 'the query found that an earlier call took effect'),
    unsent: true,
  }
}

async function call(
  effect: LeasedEffect,
  gate: TargetGate,
  context: DispatchContext,
): Promise<AnswerJudgement> {
  const { env, leaving, logFields } = context
  const { target } = gate
  context.onCall()
  const began = env.clock.nowMs()
  const answer = await env.traces.span(
    {
      name: `call ${target.name}`,
      kind: 'call',
      attributes: { 'onceward.consumer': context.consumer, 'onceward.target': target.name },
    },
    async span => {
      const answered = await callTarget(target, effect, env, leaving)
      if (span.on) span.set(spanFacts(answered))
      return answered
    },
  )
  const judged = judgeAnswer(answer, { keyed: target.policy === 'keyed', before: effect.before })
  if (leaving.aborted) return judged
  env.reach('dispatch.called')
  if (judged.unsent) return judged
  const labels = { consumer: context.consumer, target: target.name }
  env.metrics.record('callDuration', (env.clock.nowMs() - began) / 1000, labels)
  env.metrics.add('calls', 1, { ...labels, result: judged.result })
  const { pauseMs, opened } = gate.record(judged, env.clock.nowMs())
  const fields = { ...logFields, target: target.name, status: judged.status }
  if (judged.misconfigured)
    env.log.error('target refused the credentials; calls to it pause', { ...fields, pauseMs })
  if (opened)
    env.log.warn('target keeps failing; calls to it pause, then resume one at a time', {
      ...fields,
      pauseMs: target.breaker?.pauseMs,
    })
  return judged
}

function spanFacts(answer: Answer): Record<string, string | number> {
  return {
    'onceward.answer': answer.kind,
    ...('status' in answer && answer.status !== null && { 'http.response.status_code': answer.status }),
  }
}
