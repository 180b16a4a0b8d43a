import { commandFrom, defineConsumer, ignore, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { CaseMoved } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

/** Turns an escalation into a command that ensures one alert for this step of this case. */
export function supervisorAlerts({ moveQueue, leaseMs }: Settings) {
  return defineConsumer<CaseMoved, SqlTransaction>({
    name: 'supervisor_alerts',
    owner: 'case platform team',
    risk: 'notification',
    source: postgresQueue(moveQueue, { leaseMs }),
    message: CaseMoved,
    identity: { id: { property: 'messageId' }, eventId: m => m.transitionId },
    async handle({ message, envelope, tx }) {
      if (message.to !== 'ESCALATED') return ignore('only escalations alert')
      const command = commandFrom(envelope, {
        consumer: 'supervisor_alerts',
        type: 'CreateSupervisorAlert',
        cause: ['case-escalation', message.caseId, message.version],
        body: { caseId: message.caseId, text: message.reason },
      })
      await tx.query(
        `insert into supervisor_alert (alert_id, case_id, text, correlation_id, causation_id) values ($1, $2, $3, $4, $5)
         on conflict (alert_id) do nothing`,
        [command.id, command.body.caseId, command.body.text, command.correlationId, command.causationId],
      )
    },
  })
}

export default supervisorAlerts(readSettings())
