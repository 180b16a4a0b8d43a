import { proof } from './proof.ts'

/** Tests of metrics, alerts, logs, evidence, checks and pages. */
export const seen = {
  catalogue: proof('telemetry/catalogue.test.ts', 'has every name of the source documents, and no other'),
  exactCounts: proof(
    'telemetry/exact-counts.test.ts',
    'exports exactly those counts over HTTP, and /readyz and /livez answer',
  ),
  redelivered: proof(
    'telemetry/redelivered.test.ts',
    'is counted as redelivered and as a duplicate, and its log line has every field',
  ),
  staged: proof(
    'alerts/live.test.ts',
    'exports every metric, with every label that alerts and the dashboard query',
  ),
  backlog: proof('alerts/live-backlog.extended.test.ts', 'fire the alert of each cause, and none before'),
  relayRules: proof('alerts/promtool.test.ts', 'of a relay fire where they should and nowhere else'),
  corruption: proof('alerts/rules.test.ts', 'corruption pages the owner for every risk'),
  printedTemplate: proof('policy/template.test.ts', 'is accepted <form>, and means what it says'),
  printedContract: proof('review/printed.test.ts', '<title>, as printed'),
  bounded: proof('telemetry/catalogue.test.ts', 'limits the number of time series from external values'),
  logLines: proof('telemetry/logs.test.ts', 'carry the identities and the decision, and nothing of the body'),
  traces: proof(
    'telemetry/traces.test.ts',
    'one message continues its trace: handler, outbox, relay, RabbitMQ, next consumer',
  ),
  alerts: proof('alerts/rules.test.ts', 'are at least those the source documents ask for'),
  fires: proof('alerts/promtool.test.ts', 'fire where they should and nowhere else'),
  dashboard: proof(
    'alerts/rules.test.ts',
    'every metric an alert looks at is on the dashboard, and every query there can be answered',
  ),
  thresholds: proof('alerts/rules.test.ts', 'carry thresholds, people and severity of their contract'),
  spike: proof(
    'alerts/runbooks.test.ts',
    'of a duplicate spike looks at everything 000 §23 names, in its order',
  ),
  runbooks: proof(
    'alerts/runbooks.test.ts',
    'there is one for every alert, and an alert or a stated reason for every one',
  ),
  twoLags: proof(
    'check/checklist-proofs.test.ts',
    'what waits at the source and what waits in the store are two metrics',
  ),
  noTag: proof('check/checklist-proofs.test.ts', 'is not read from a delivery tag: no such property exists'),
  noClient: proof(
    'check/checklist-proofs.test.ts',
    'a handler is given the message and its transaction, and nothing of the client of the broker',
  ),
  checklists: proof(
    'check/pages.test.ts',
    'has a row for every question and every anti-pattern of the source documents',
  ),
  answers: proof('check/pages.test.ts', 'answers each of them by a rule, a field or a test that exists'),
  contractRefused: proof('unit/contract.test.ts', 'with <what>'),
  contractProblems: proof('unit/contract.test.ts', 'with all its problems at once'),
  ageSurvives: proof('telemetry/age-restart.test.ts', 'survives the kill of its process'),
  rules: proof('check/rules.test.ts', '<rule.id> <rule.title>'),
  auditor: proof('evidence/explain.test.ts', "answers each of an auditor's questions, or says why it cannot"),
  story: proof(
    'evidence/explain.test.ts',
    'shows the whole story of a message, in the order in which it happened',
  ),
  findsRow: proof('evidence/explain.test.ts', 'finds the message behind a business key, an effect and a row'),
  rowCause: proof('evidence/declared.test.ts', 'carry the message and the run that wrote them last'),
  drift: proof('evidence/reconcile.test.ts', 'finds each kind of drift that a manual change leaves'),
  page: proof('review/page.test.ts', 'has every part of a consumer contract'),
  pageMatrix: proof(
    'review/matrix.test.ts',
    'from <kind>, settled <when>: of each effect what the matrix says',
  ),
  pageKafka: proof(
    'review/matrix.test.ts',
    "to Kafka is not Kafka's exactly-once, and the page names the alternative",
  ),
  pageBehaviour: proof(
    'review/behaviour.test.ts',
    'of a business key, other content is a conflict only where the contract names the content',
  ),
  template: proof(
    'policy/schema.test.ts',
    'has an equivalent for every key of the template, and each of them is a key',
  ),
  templateFile: proof('policy/schema.test.ts', 'shows the template as a policy file that can be read'),
  retryImport: proof(
    'policy/with-policy.test.ts',
    'a retry policy of operations is translated into contract options',
  ),
  objectives: proof('unit/objectives.test.ts', 'are what the contract says, and the outbox follows the lag'),
  ports: proof('docs/write-a-driver.test.ts', 'the driver on the page is the one that passes the suites'),
  sqlite: proof(
    'conformance/sqlite.test.ts',
    'a consumer on both applies each message once, however often it is published',
  ),
  faults: proof('tidy.test.ts', 'every fault in the list of faults names a test that exists'),
  crashPoints: proof(
    'tidy.test.ts',
    'every declared point has a scenario in the crash suite, or a test of its own',
  ),
  eachConsumer: proof(
    'evidence/explain.test.ts',
    'distinguishes consumers, with the reason why there is no effect',
  ),
  givesUp: proof(
    'docs/guides.test.ts',
    'docs/guarantees.md says what each weaker choice gives up, and at most once that it loses',
  ),
  whichEffect: proof(
    'docs/guides.test.ts',
    'docs/choosing-an-effect.md leads to every kind of effect, by a question and with its reason',
  ),
  whichMode: proof('docs/guides.test.ts', 'docs/inbox.md says for what work each mode is'),
  whichChoice: proof(
    'docs/guides.test.ts',
    'docs/choosing-an-effect.md says which identity, completion and order to choose',
  ),
  commitCosts: proof('docs/guides.test.ts', 'docs/logs.md says what each time of the commit costs'),
  ownTime: proof('telemetry/process-time.test.ts', 'is that of its own call, beside a slow one of its batch'),
  eachMetric: proof(
    'alerts/staged.test.ts',
    'every counter and gauge is seen above zero against real servers',
  ),
  explainWhole: proof(
    'evidence/explain-whole.test.ts',
    'answers every question of 003 §18 about a message that simply succeeded',
  ),
  eventTime: proof('evidence/receipts.test.ts', 'have the time of the event, by the message itself'),
  ownPolicy: proof('policy/with-policy.test.ts', 'make one consumer, in the units of contracts'),
  producer: proof('alerts/rules.test.ts', 'only contract violations name the producer'),
  tries: proof('check/samples.test.ts', '<what> is an error, on samples and on an empty message'),
  entityId: proof('check/samples.test.ts', 'is a warning where the message has a version'),
  captured: proof('check/samples.test.ts', 'is a warning where its id leaves the commit out'),
}
