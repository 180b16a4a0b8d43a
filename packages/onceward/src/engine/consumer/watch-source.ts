import type { ConsumerContext } from '../consumer-context.ts'

/** Registers gauges of the source, the breaker and the brakes. Each returned function ends one. */
export function watchSource<M, Tx>({
  consumer,
  subscription,
  breaker,
  brakes,
  enrolment,
  env,
}: ConsumerContext<M, Tx>): readonly (() => void)[] {
  const { metrics } = env
  const labels = { consumer: consumer.name }
  const unwatch: (() => void)[] = []
  if (subscription.lag !== undefined) unwatch.push(metrics.watchLag(consumer.name, () => subscription.lag!()))
  if (subscription.log?.waitingPartitions !== undefined)
    unwatch.push(
      metrics.watch(['waitingPartitions'], see =>
        see('waitingPartitions', subscription.log!.waitingPartitions!(), labels),
      ),
    )
  if (consumer.failure.breaker !== null)
    unwatch.push(
      metrics.watch(['paused'], see => see('paused', breaker.view.state === 'closed' ? 0 : 1, labels)),
    )
  if (consumer.failure.brake !== null) {
    const version = enrolment.facts.handlerVersion
    unwatch.push(
      metrics.watch(['braked'], see => {
        for (const { type, cause } of brakes.engaged) see('braked', 1, { ...labels, type, cause, version })
      }),
    )
  }
  return unwatch
}
