import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../client/index.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// Policies that ask what the user of a request may do.
let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
  const { client } = server;
  const metadata = { namespace: 'default', name: 'bot' };
  await client.serviceAccounts.create({ metadata });
  const rules = [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'publish'] },
    { apiGroups: [''], resources: ['pods/exec'], resourceNames: ['x'], verbs: ['create'] },
  ];
  await client.roles.create({ metadata, rules });
  const subjects = [{ kind: 'ServiceAccount', namespace: 'default', name: 'bot' }];
  await client.roleBindings.create({ metadata, roleRef: { kind: 'Role', name: 'bot' }, subjects });
  await client.clusterRoles.create({ metadata: { name: 'pages' }, rules: [{ nonResourceURLs: ['/pages/*'], verbs: ['get'] }] });
  await client.clusterRoleBindings.create({
    metadata: { name: 'pages' },
    roleRef: { kind: 'ClusterRole', name: 'pages' },
    subjects,
  });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

it('each question is answered as the authorizer would', async () => {
  const { client } = server;
  const questions: Record<string, string> = {
    itself: "authorizer.requestResource.check('publish')",
    other: "authorizer.requestResource.check('approve')",
    named: "authorizer.group('').resource('configmaps').namespace('default').name('a').check('create')",
    elsewhere: "authorizer.group('').resource('configmaps').namespace('kube-system').check('create')",
    group: "authorizer.group('apps').resource('configmaps').namespace('default').check('create')",
    exec: "authorizer.group('').resource('pods').subresource('exec').namespace('default').name('x').check('create')",
    path: "authorizer.path('/pages/1').check('get')",
    secret: "authorizer.path('/metrics').check('get')",
    account: "authorizer.serviceAccount('default', 'bot').path('/pages/1').check('get')",
    stranger: "authorizer.serviceAccount('default', 'nobody').path('/pages/1').check('get')",
  };
  const metadata = { name: 'rights' };
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] };
  const auditAnnotations = Object.entries(questions).map(([key, question]) => ({
    key,
    valueExpression: `(${question}).allowed() && !(${question}).errored() ? 'yes' : 'no' + (${question}).reason()`,
  }));
  const expression = Object.values(questions)
    .map((question, i) => `'${Object.keys(questions)[i]}=' + string((${question}).allowed())`)
    .join(" + ' ' + ");
  await client.objects.create('ValidatingAdmissionPolicy', {
    metadata,
    spec: {
      matchConstraints: { resourceRules: [rule] },
      matchConditions: [{ name: 'bots', expression: "authorizer.requestResource.check('publish').allowed()" }],
      variables: [{ name: 'rights', expression }],
      validations: [{ expression: '!has(object.data)', messageExpression: 'variables.rights' }],
      auditAnnotations,
    },
  });
  await client.objects.create('ValidatingAdmissionPolicyBinding', {
    metadata,
    spec: { policyName: 'rights', validationActions: ['Deny'] },
  });
  const bot = connect({ ...server.admin, impersonate: { user: 'system:serviceaccount:default:bot' } });
  try {
    const create = () => bot.configMaps.create({ metadata: { namespace: 'default', name: 'a' }, data: { a: 'b' } });
    await expect(create()).rejects.toMatchObject({
      message: expect.stringContaining(
        'itself=true other=false named=true elsewhere=false group=false exec=true path=true secret=false account=true stranger=false',
      ),
    });
  } finally {
    bot.close();
  }
});
