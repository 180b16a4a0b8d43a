import { commandFrom, defineConsumer, ignore, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { CaseStep } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

/** Turns an escalation into a command that ensures one alert for this step of this case. */
export function supervisorAlerts({ alertQueue, leaseMs }: Settings) {
  return defineConsumer<CaseStep, SqlTransaction>({
    name: 'supervisor_alerts',
    owner: 'case platform team',
    risk: 'notification',
    source: postgresQueue(alertQueue, { leaseMs }),
    message: CaseStep,
    identity: { id: m => m.messageId, eventId: m => m.transitionId, type: m => m.type },
    retention: {},
    async handle({ message, envelope, tx }) {
      if (message.type !== 'CaseEscalated') return ignore('only escalations alert')
      const command = commandFrom(envelope, {
        consumer: 'supervisor_alerts',
        type: 'CreateSupervisorAlert',
        cause: ['case-escalation', message.caseId, message.caseVersion],
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
