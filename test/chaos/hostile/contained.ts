import type { JsonObject } from '../../../client/index.ts';
import { image } from '../pod-churn.ts';
import { type Expected, type HostileCase, harmless, notScheduled, notStarted, once, withVolume } from './cases.ts';

const list = (pods: Readonly<Record<string, readonly [JsonObject, Expected]>>): HostileCase[] =>
  Object.entries(pods).map(([what, [pod, expected]]) => ({ what, pod, expected }));
const longest = (length: number) => 'a'.repeat(length);
const most32 = 2 ** 31 - 1;

/** What the volumes of the cases are made from. */
export const objects: readonly (readonly ['ConfigMap' | 'Secret', JsonObject])[] = [
  ['ConfigMap', { metadata: { name: 'plain' }, data: { k: 'v', up: '../../../../etc', root: '/etc' } }],
  ['ConfigMap', { metadata: { name: longest(253) }, data: { [longest(253)]: 'long names' } }],
  ['Secret', { metadata: { name: 'locked' }, stringData: { k: 'v' } }],
  ...Array.from(
    { length: 8 },
    (_, i) => ['ConfigMap', { metadata: { name: `big-${i}` }, data: Object.fromEntries(bigData(i)) }] as const,
  ),
];

function bigData(of: number): [string, string][] {
  return Array.from({ length: 9 }, (_, i) => [`BIG_${of}_${i}`, 'x'.repeat(100_000)]);
}

/** A link that an init container makes in a volume; the pod's container mounts what is behind it. */
function behindLink(prepare: string, subPath: string): JsonObject {
  const init = {
    name: 'prepare',
    image,
    imagePullPolicy: 'IfNotPresent',
    command: ['sh', '-c', prepare],
    volumeMounts: [{ name: 'v', mountPath: '/v' }],
  };
  return withVolume({ emptyDir: {} }, { subPath }, {}, { initContainers: [init] });
}

function expression(variable: JsonObject): JsonObject {
  return withVolume({ emptyDir: {} }, { subPathExpr: '$(WHERE)' }, { env: [{ name: 'WHERE', ...variable }] });
}
const fromMap = (key: string) => ({ valueFrom: { configMapKeyRef: { name: 'plain', key } } });

const paths = list({
  'a variable that goes up': [expression({ value: 'a/../../..' }), notStarted(/not a path inside of the volume/)],
  'a variable from the root': [expression(fromMap('root')), notStarted(/not a path inside of the volume/)],
  'a variable of an object that goes up': [expression(fromMap('up')), notStarted(/not a path inside of the volume/)],
  'a link to the root': [behindLink('ln -s / /v/a', 'a/etc/shadow'), notStarted(/leads out of the volume through a link/)],
  'a link to a parent': [
    behindLink('ln -s ../../../../../.. /v/a', 'a/etc'),
    notStarted(/leads out of the volume through a link/),
  ],
  'a link to a link to a parent': [
    behindLink('mkdir /v/b; ln -s ../b/c /v/b/a; ln -s ../.. /v/b/c', 'b/a/etc'),
    notStarted(/leads out of the volume through a link/),
  ],
  'a link to the own process': [behindLink('ln -s /proc/self/root /v/a', 'a/etc'), notStarted(/leads out of the volume/)],
  'links in a circle': [behindLink('ln -s b /v/a; ln -s a /v/b', 'a'), notStarted(/more than 40 links/)],
  'a link that stays inside': [behindLink('mkdir /v/b; echo fine >/v/b/x; ln -s b /v/a', 'a'), harmless(/fine/)],
  'a file as a folder': [behindLink('touch /v/a', 'a/b'), notStarted(/is not a folder/)],
  'a pipe that nobody writes to': [{ ...behindLink('mkfifo /v/a', 'a') }, harmless(/^/)],
  'a subPath of 300 folders': [withVolume({ emptyDir: {} }, { subPath: 'a/'.repeat(300) }), notStarted(/deeper than 256/)],
  'a subPath of 256 letters': [withVolume({ emptyDir: {} }, { subPath: longest(256) }), notStarted(/too long/i)],
  'a subPath of 255 letters': [withVolume({ emptyDir: {} }, { subPath: longest(255) }), harmless(/^/)],
  'a file in a file': [
    withVolume({
      configMap: {
        name: 'plain',
        items: [
          { key: 'k', path: 'a' },
          { key: 'up', path: 'a/b' },
        ],
      },
    }),
    notStarted(/MountVolume.SetUp failed/),
  ],
  'an item of 5,000 letters': [
    withVolume({ configMap: { name: 'plain', items: [{ key: 'k', path: longest(5_000) }] } }),
    notStarted(/MountVolume.SetUp failed/),
  ],
  'a volume at the root': [withVolume({ emptyDir: {} }, { mountPath: '/' }), notStarted(/destination can't be '\/'/)],
  'a volume over /proc': [withVolume({ emptyDir: {} }, { mountPath: '/proc' }), notStarted(/proc/)],
  'a volume above the root': [withVolume({ emptyDir: {} }, { mountPath: '../../../v' }), harmless(/^/)],
  'last words above the root': [once('true', { terminationMessagePath: '/../../../etc/x' }), harmless(/^/)],
  'last words over /proc': [once('true', { terminationMessagePath: '/proc/version' }), notStarted(/proc/)],
  'a working folder above the root': [
    once('pwd; ls -d /etc/shadow-', { workingDir: '/../../../..' }),
    harmless(/^\/\n.*No such file/),
  ],
  'a working folder that starts nowhere': [once('true', { workingDir: '../..' }), notStarted(/working directory|invalid/)],
});

const doubling = [
  { name: 'V0', value: 'x'.repeat(1024) },
  ...Array.from({ length: 40 }, (_, i) => ({ name: `V${i + 1}`, value: `$(V${i})$(V${i})` })),
];

const values = list({
  'variables that double 40 times': [once('true', { env: doubling }), notStarted(/more than 6 MiB/)],
  'arguments of a hundred MiB from one of 1 KiB': [
    once('true', { env: doubling.slice(0, 10), args: Array(200).fill('$(V9)') }),
    notStarted(/more than 6 MiB/),
  ],
  '7 MiB of variables from objects': [
    once('true', { envFrom: Array.from({ length: 8 }, (_, i) => ({ configMapRef: { name: `big-${i}` } })) }),
    notStarted(/more than 6 MiB/),
  ],
  'more variables than a program is started with here': [
    once('true', { envFrom: Array.from({ length: 5 }, (_, i) => ({ configMapRef: { name: `big-${i}` } })) }),
    notStarted(/argument list too long/),
  ],
  'a variable that is too long for a program': [
    once('true', { env: [{ name: 'A', value: 'x'.repeat(900_000) }] }),
    notStarted(/argument list too long/),
  ],
  'a command that is too long for a file': [once('true', { command: [longest(200_000)] }), notStarted(/file name too long/)],
  'an argument as a command that is too long': [
    once('true', { command: [], args: [longest(200_000)] }),
    notStarted(/file name too long/),
  ],
  'a working folder that is too long': [once('true', { workingDir: `/${longest(200_000)}` }), notStarted(/file name too long/)],
  'a volume at a path that is too long': [
    withVolume({ emptyDir: {} }, { mountPath: `/${longest(200_000)}` }),
    notStarted(/file name too long/),
  ],
  'a probe with a command that is too long': [
    once('sleep 1', { livenessProbe: { exec: { command: [longest(200_000)] }, periodSeconds: 1, timeoutSeconds: 1 } }),
    harmless(/^$/),
  ],
  'a right that there is not': [
    once('true', { securityContext: { capabilities: { add: [longest(200_000)] } } }),
    notStarted(/capability/i),
  ],
  'a variable of 100,000 letters': [
    once('echo $' + '{#A}', { env: [{ name: 'A', value: 'x'.repeat(100_000) }] }),
    harmless(/^100000$/m),
  ],
  '1,000 variables': [
    once('env | grep -c ^V', { env: Array.from({ length: 1_000 }, (_, i) => ({ name: `V${i}`, value: `${i}` })) }),
    harmless(/^1000$/m),
  ],
  'a variable that ends in the middle': [once('true', { env: [{ name: 'A', value: 'a\u0000b' }] }), notStarted(/./)],
  '1,000 volumes': [
    once(
      'ls /v | wc -l; grep -c " /v/" /proc/mounts',
      { volumeMounts: Array.from({ length: 1_000 }, (_, i) => ({ name: `v${i}`, mountPath: `/v/${i}` })) },
      { volumes: Array.from({ length: 1_000 }, (_, i) => ({ name: `v${i}`, emptyDir: {} })) },
    ),
    harmless(/^1000\n1000$/m),
  ],
  '1,000 ports, aliases and labels': [
    once(
      'grep -c ^10.9 /etc/hosts',
      { ports: Array.from({ length: 1_000 }, (_, i) => ({ containerPort: i + 1 })) },
      { hostAliases: Array.from({ length: 1_000 }, (_, i) => ({ ip: `10.9.${i >> 8}.${i & 255}`, hostnames: [`h${i}`] })) },
      { labels: Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`l${i}`, `${i}`])) },
    ),
    harmless(/^1000$/m),
  ],
  '1,000 groups': [
    once(
      'id -G | wc -w',
      { securityContext: { runAsUser: most32, runAsGroup: most32 } },
      {
        securityContext: { supplementalGroups: Array.from({ length: 1_000 }, (_, i) => most32 - 1 - i) },
      },
    ),
    harmless(/^1001$/m),
  ],
  'more memory than there is': [
    once('true', { resources: { requests: { memory: '8Ei' } } }),
    notScheduled(/insufficient memory/i),
  ],
  'more processors than there are': [
    once('true', { resources: { requests: { cpu: '9223372036854775807' } } }),
    notScheduled(/insufficient cpu/i),
  ],
  'huge pages that there are not': [
    once('true', { resources: { limits: { 'hugepages-2Mi': '8Ei', memory: '1Mi', cpu: '1m' } } }),
    notScheduled(/insufficient hugepages-2Mi/i),
  ],
  'limits beyond all numbers': [
    once('echo fine', {
      resources: { limits: { cpu: '9223372036854775807', memory: '9223372036854775807' }, requests: { cpu: 0, memory: 0 } },
    }),
    harmless(/fine/),
  ],
  'one byte of memory': [
    once('true', { resources: { limits: { memory: '1' } } }),
    notStarted(/memory limit|cannot allocate memory|init died|out of memory/i),
  ],
  'a thousandth of a processor': [once('echo fine', { resources: { limits: { cpu: '1m' } } }), harmless(/fine/)],
  'a volume in memory of one byte': [withVolume({ emptyDir: { medium: 'Memory', sizeLimit: '1' } }), harmless(/^/)],
  'a volume in memory beyond all numbers': [
    withVolume({ emptyDir: { medium: 'Memory', sizeLimit: '9223372036854775807' } }),
    harmless(/^/),
  ],
  'an image with a path': [once('true', { image: '../../etc/passwd' }), notStarted(/InvalidImageName/)],
  'an image of 5,000 letters': [once('true', { image: longest(5_000) }), notStarted(/InvalidImageName/)],
  'a sysctl that is not safe': [
    once('true', {}, { securityContext: { sysctls: [{ name: 'kernel.panic', value: '1' }] } }),
    notStarted(/SysctlForbidden/),
  ],
  'last words of 10 MB': [
    once('true', { command: ['sh', '-c', 'head -c 10000000 /dev/zero | tr "\\0" a >/dev/termination-log'] }),
    harmless(/^a{4096}$/),
  ],
  'labels of Berth itself': [
    once('echo fine', {}, {}, { labels: { 'io.berth.pod.uid': 'x', 'io.berth.node': 'x', 'io.berth.pod.name': 'x' } }),
    harmless(/fine/),
  ],
});

/** Each as long as it may be, in one pod. */
const names = list({
  'every name at its limit': [
    {
      ...once(
        'hostname; cat /v/*/*; grep -c $(hostname) /etc/hosts',
        {
          name: longest(63),
          ports: [{ containerPort: 80, name: longest(15) }],
          volumeMounts: [
            { name: longest(63), mountPath: `/v/${longest(255)}` },
            { name: 'part', mountPath: '/part', subPath: longest(253) },
          ],
          env: [{ name: longest(1_000), value: '1' }],
        },
        {
          hostname: longest(63),
          subdomain: longest(63),
          volumes: [
            { name: longest(63), configMap: { name: longest(253) } },
            { name: 'part', configMap: { name: longest(253) } },
          ],
        },
        {
          name: longest(253),
          labels: { [`${longest(253)}/${longest(63)}`]: longest(63) },
          annotations: { [longest(63)]: 'x'.repeat(200_000) },
        },
      ),
    },
    harmless(/^a{63}\nlong names1$/m),
  ],
  'a pod name at its limit': [once('hostname', {}, {}, { name: `b${longest(252)}` }), harmless(/^ba{62}$/m)],
});

export const containedCases: readonly HostileCase[] = [...paths, ...values, ...names];
