import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { openPool } from './scene.ts'

const peopleRoles = ['onceward_operator', 'onceward_approver', 'onceward_console']

/** Rights to write that people have on tables. Each would need a reason here; there is none. */
const writtenByPeople: Record<string, string> = {}

/** What a process must not write, and what protects it. */
const notWrittenByProcesses: Record<string, string> = {
  audit: 'the chain is written by its functions',
  audit_head: 'the chain is written by its functions',
  person: 'who is a person is the owner’s word',
  approval: 'people approve',
  fix: 'people fix',
  closed_held: 'people give up',
  redrive: 'people let go',
  redrive_row: 'people let go',
  classification: 'people classify',
  migration: 'the owner migrates',
  environment: 'the owner names the environment',
  function_right: 'the owner says who calls what',
  campaign_approval: 'people approve',
  campaign_event: 'history is written by triggers',
  campaign_step: 'the owner says which steps there are',
  server_incarnation: 'written by record_incarnation and accept_incarnation',
  broker: 'written by register_broker and accept_broker',
  reader: 'written by register_reader and the acts on names',
  marker_days: 'the owner moves markers into days',
  late_marker: 'written by a trigger',
  cluster_name: 'written by register_cluster',
  cluster_mark: 'written by register_cluster',
}

const looks = [
  'actor',
  'acts_for_listed_person',
  'audit_content',
  'audit_field',
  'body_of',
  'campaign_complete',
  'campaign_rows_digest',
  'cause_of',
  'fix_waits',
  'fold_parked_counts',
  'normalized_name',
  'is_console',
  'is_given_up',
  'is_high_risk',
  'is_person',
  'loss_digest',
  'other_generations',
  'place_of',
  'risk_of',
  'risk_rank',
  'same_incarnation',
  'same_person',
  'is_blank',
  'row_version',
  'selected_consumer',
  'selection_digest',
  'server_check',
  'server_now',
  'visible_text',
]
const acts = [
  'accept_broker',
  'accept_loss',
  'release_brake',
  'accept_incarnation',
  'act_on_effect',
  'create_campaign',
  'delete_parked',
  'drop_outbox',
  'fix_parked',
  'record_incarnation',
  'plan_campaign',
  'redrive_stage',
  'redrive_start',
  'redrive_stop',
  'release_held',
  'rename_consumer',
  'request_deletion',
  'retire_destination',
  'select_campaign_rows',
  'separate_reader',
  'skip_parked',
  'steer_campaign',
  'classify_parked',
  'quarantine_parked',
]
/** Of operators and approvers: a request is withdrawn or declined; keys of acts; their own filters. */
const ofBoth = ['begin_act', 'decline', 'end_act', 'own_filters', 'remove_filter', 'save_filter']
const approvals = ['approve', 'approve_campaign', 'drop_tenant']
const callable: Record<string, readonly string[]> = {
  onceward_operator: [...looks, ...acts, ...ofBoth],
  onceward_approver: [...looks, ...approvals, ...ofBoth],
  onceward_console: [...looks, ...acts, ...approvals, ...ofBoth, 'console_refused'],
  public: [],
}

describe('the rights of the roles, as the catalogue has them', await skipWithout('postgres'), () => {
  let pool: Awaited<ReturnType<typeof openPool>>
  before(async () => {
    pool = await openPool()
    await pool.query('select onceward.create_roles()')
  })
  after(() => pool.close())

  const written = async (role: string): Promise<string[]> =>
    (
      await pool.query(
        `select c.relname || ' ' || what as right from pg_class c
         cross join unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as what
         where c.relnamespace = 'onceward'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
           and (has_table_privilege($1, c.oid, what)
             or (what in ('insert', 'update', 'references') and has_any_column_privilege($1, c.oid, what)))
         union all select c.relname || ' ' || what from pg_class c cross join unnest(array['usage', 'update']) as what
         where c.relnamespace = 'onceward'::regnamespace and c.relkind = 'S' and has_sequence_privilege($1, c.oid, what)
         order by 1`,
        [role],
      )
    ).rows.map(row => row.right)

  for (const role of peopleRoles)
    it(`${role} writes no table: every act is a function`, async () => {
      assert.deepEqual(await written(role), Object.keys(writtenByPeople).sort())
    })

  it('a process writes neither the audit nor decisions of operators', async () => {
    const rights = await written('onceward_run')
    const tables = new Set(rights.map(right => right.split(' ')[0]!))
    for (const [table, because] of Object.entries(notWrittenByProcesses))
      assert.ok(!tables.has(table), `${table}: ${because}`)
    assert.deepEqual(
      rights.filter(right => /^(clock_step|held_action|ledger_action|loss) /.test(right)),
      ['clock_step insert', 'held_action insert', 'ledger_action insert', 'loss insert', 'loss update'],
    )
    const { rows } = await pool.query(
      `select attname as column from pg_attribute where attrelid = 'onceward.loss'::regclass and attname like 'accepted%'
         and (has_column_privilege('onceward_run', attrelid, attnum, 'update')
           or has_column_privilege('onceward_run', attrelid, attnum, 'insert'))`,
    )
    assert.deepEqual(rows, [], 'no process accepts a loss')
  })

  for (const [role, names] of Object.entries(callable))
    it(`${role} calls the functions listed here and no other`, async () => {
      const { rows } = await pool.query(
        `select distinct proname as name from pg_proc
         where pronamespace = 'onceward'::regnamespace and has_function_privilege($1, oid, 'execute')`,
        [role],
      )
      assert.deepEqual(rows.map(row => row.name).sort(), [...names].sort())
    })

  it('a process calls no act of operators', async () => {
    const { rows } = await pool.query(
      `select distinct proname as name from pg_proc where pronamespace = 'onceward'::regnamespace
         and proname = any ($1) and has_function_privilege('onceward_run', oid, 'execute')`,
      [
        [
          ...acts,
          ...approvals,
          ...ofBoth,
          'audit_entry',
          'refuse',
          'close_rows',
          'unblock_keys',
          'create_roles',
        ],
      ],
    )
    assert.deepEqual(
      rows.map(row => row.name).sort(),
      ['create_campaign', 'plan_campaign', 'record_incarnation', 'select_campaign_rows', 'steer_campaign'],
      'these are audited, and a process does them for people or about what it met',
    )
  })

  it('only their functions write the keys of acts, saved filters, declined requests and those for tenants', async t => {
    const client = await pool.connect()
    t.after(() => client.release())
    for (const role of ['onceward_run', ...peopleRoles])
      for (const [table, columns, values] of [
        ['act_key', 'person, key, action', `'ann', 'a key of eight', 'x'`],
        ['saved_filter', 'person, name, query', `'ann', 'x', 'x'`],
        ['declined', 'approval_id, declined_by, reason', `1, 'ann', 'x'`],
        ['tenant_drop', 'consumer_id, tenant, reason, requested_by', `1, 'acme', 'x', 'ann'`],
      ]) {
        await client.query('begin')
        await client.query(`set local role ${role}`)
        await assert.rejects(
          client.query(`insert into onceward.${table} (${columns}) values (${values})`),
          { code: '42501' },
          `${role} ${table}`,
        )
        await client.query('rollback')
      }
    await pool.query(`insert into onceward.saved_filter (person, name, query) values ('ann', 'x', 'iban')`)
    await client.query('begin; set local role onceward_console')
    assert.deepEqual((await client.query('select * from onceward.saved_filter')).rows, [])
    await client.query('rollback')
  })

  it('every function that acts for its owner has a search path of its own', async () => {
    const { rows } = await pool.query(
      `select proname as name from pg_proc where pronamespace = 'onceward'::regnamespace and prosecdef
         and not exists (select from unnest(proconfig) as setting where setting like 'search_path=pg_catalog%')`,
    )
    assert.deepEqual(rows, [])
  })

  it('a right that was granted by hand is removed when the roles are created again', async () => {
    await pool.query(`grant insert, update on onceward.campaign to onceward_operator;
      grant update (accepted_at, accepted_reason) on onceward.loss to onceward_operator`)
    await pool.query('select onceward.create_roles()')
    assert.deepEqual(await written('onceward_operator'), [])
  })
})
