// The arrows of DESIGN.md 1 (and host/, which alone imports the mains): who may import whom. Run by hack/verify-arrows;
// hack/verify-arrows.test.ts plants forbidden imports and sees them refused.
const rooms = ['api', 'client', 'apiserver', 'scheduler', 'agent', 'controllers', 'cli', 'host'];
/** Everything outside a test file may import only these rooms besides its own. */
const allowed = {
  api: [],
  client: ['api'],
  apiserver: ['api'],
  scheduler: ['api', 'client'],
  agent: ['api', 'client'],
  controllers: ['api', 'client'],
  cli: ['api', 'client'],
  host: ['api', 'client', 'cli'],
};
const test = '\\.test\\.ts$';
const mains = '^((apiserver|scheduler|agent|controllers)/main|apiserver/node-credentials)\\.ts$';
/** Of the programs: the library never loads it. */
const certificateRequest = '^client/certificates/certificate-request\\.ts$';
/** Likewise: clients judge schedules, and only the programs compute times from them. */
const schedules = '^api/kinds/cron-job/schedule\\.ts$';

const roomRules = rooms.map((room) => ({
  name: `${room}-imports-only-${allowed[room].join('-and-') || 'itself'}`,
  comment: `${room}/ may import ${[room, ...allowed[room]].join('/, ')}/${room === 'host' ? ' and the mains' : ''} only.`,
  severity: 'error',
  from: { path: `^${room}/`, pathNot: [test] },
  to: {
    path: `^(${[...rooms, 'bench', 'examples', 'test'].filter((other) => other !== room && !allowed[room].includes(other)).join('|')})/`,
    ...(room === 'host' && { pathNot: mains }),
  },
}));

export default {
  forbidden: [
    ...roomRules,
    {
      name: 'only-docker-runtime-imports-docker',
      comment: 'Only agent/runtime/docker/ talks to the Docker Engine; preflight and purge live in agent/.',
      severity: 'error',
      from: { pathNot: ['^agent/runtime/docker/', '^(test|bench)/', test] },
      to: { path: 'node_modules/(dockerode|docker-modem)/' },
    },
    {
      name: 'only-the-doors-import-grpc',
      comment: 'Only apiserver/rpc, apiserver/storage/etcd, client, agent/probes and scheduler/extenders speak gRPC.',
      severity: 'error',
      from: {
        pathNot: [
          '^apiserver/(rpc|storage/etcd)/',
          '^client/',
          '^agent/probes/',
          '^scheduler/extenders/',
          '^(test|bench)/',
          test,
        ],
      },
      to: { path: 'node_modules/(@grpc|grpc-health-check)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'pods-import-no-status',
      comment: 'agent/status/ reports what agent/pod/ knows, and agent/pod/ sees only the interface PodReport of it.',
      severity: 'error',
      from: { path: '^agent/pod/' },
      to: { path: '^agent/status/' },
    },
    {
      name: 'verbs-know-no-transport',
      comment: 'apiserver/verbs/ answers with bytes, pieces and sinks of its own: not even its types are those of gRPC or HTTP.',
      severity: 'error',
      from: { path: '^apiserver/verbs/' },
      to: { path: ['node_modules/(@grpc|grpc-health-check)/', '^(node:)?(http|http2|https|net|tls)$'] },
    },
    {
      name: 'nothing-below-the-transport-imports-it',
      comment: 'apiserver/rpc/ is imported by the files that wire the server, never by the rooms that it calls.',
      severity: 'error',
      from: { path: '^apiserver/[^/]+/', pathNot: ['^apiserver/rpc/'] },
      to: { path: '^apiserver/rpc/' },
    },
    {
      name: 'api-does-no-io',
      comment: 'api/ is pure: no file, process, network or clock of its own. (The hash of an authority is pure, too.)',
      severity: 'error',
      from: { path: '^api/', pathNot: [test, '^api/meta/authority\\.ts$'] },
      to: { dependencyTypes: ['core'], pathNot: ['^(node:)?buffer$'] },
    },
    {
      name: 'no-cycles',
      comment: 'No import cycles.',
      severity: 'error',
      from: { path: `^(${rooms.join('|')})/`, pathNot: '^api/generated/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'no-unresolved', comment: 'Every import resolves.', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-dev-dependencies-in-the-library',
      comment:
        "What `import 'berth'` and `import 'berth/scheduler'` find must not need a devDependency. The program may: hack/bundle.js puts what it imports into it.",
      severity: 'error',
      from: { path: '^(api|client|scheduler)/', pathNot: [test, certificateRequest, schedules] },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-library-makes-no-certificates',
      comment: 'What makes requests for certificates needs packages that only the programs have.',
      severity: 'error',
      from: { path: '^(client|scheduler)/index\\.ts$' },
      to: { path: certificateRequest, reachable: true },
    },
    {
      name: 'the-library-computes-no-schedules',
      comment: 'What computes the times of a CronJob needs a package that only the programs have.',
      severity: 'error',
      from: { path: '^(client|scheduler)/index\\.ts$' },
      to: { path: schedules, reachable: true },
    },
    {
      name: 'no-unlisted-packages',
      comment: 'Every package that is imported stands in package.json.',
      severity: 'error',
      from: { path: `^(${rooms.join('|')})/`, pathNot: [test] },
      to: { dependencyTypes: ['npm-no-pkg'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^dist/'] },
    exclude: { path: ['^dist/', '^api/generated/types/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['berth-source', 'import', 'require', 'node', 'default', 'types'],
    },
  },
};
