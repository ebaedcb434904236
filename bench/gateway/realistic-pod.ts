import type { Pod } from '../../client/index.ts';
import { typicalPod } from '../api/typical-pod.ts';

/** A pod as clusters have them: with probes and a Service account's token. */
export function realisticPod(name: string): Pod {
  const { metadata, spec } = typicalPod();
  const [web, logs] = spec!.containers!;
  const httpGet = { path: '/healthz', port: { type: 1, strVal: 'http' }, scheme: 'HTTP' };
  const token = { name: 'kube-api-access', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true };
  return {
    metadata: { ...metadata, generateName: '', name },
    spec: {
      ...spec,
      containers: [
        {
          ...web,
          livenessProbe: { handler: { httpGet }, periodSeconds: 10, failureThreshold: 3 },
          readinessProbe: { handler: { httpGet: { ...httpGet, port: { intVal: 8080 } } }, periodSeconds: 5 },
          volumeMounts: [...web!.volumeMounts!, token],
        },
        { ...logs, volumeMounts: [...logs!.volumeMounts!, token] },
      ],
      volumes: [
        ...spec!.volumes!,
        {
          name: token.name,
          volumeSource: {
            projected: {
              sources: [
                { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
                { configMap: { localObjectReference: { name: 'kube-root-ca.crt' }, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
              ],
            },
          },
        },
      ],
    },
  };
}

/** What an agent says of it. */
export function runningStatus(number: number): NonNullable<Pod['status']> {
  const seconds = 1_790_000_000 + number;
  const started = { seconds };
  const ip = `10.42.${number >> 8}.${number & 255}`;
  const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: started });
  const running = (name: string, image: string) => ({
    name,
    image,
    imageID: `${image}@sha256:8e1f9a4c7b0d52e36f1ab0c4d7e95f6038b1c2d4e5f60718293a4b5c6d7e8f90`,
    containerID: `docker://${String(number).padStart(64, '4f2c9e1b7d0a4c55')}`,
    ready: true,
    started: true,
    restartCount: number % 3,
    state: { running: { startedAt: started } },
  });
  return {
    phase: 'Running',
    conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(condition),
    hostIP: '192.168.7.12',
    hostIPs: [{ ip: '192.168.7.12' }],
    podIP: ip,
    podIPs: [{ ip }],
    startTime: started,
    containerStatuses: [
      running('web', 'registry.example.com/shop/web:1.24.3'),
      running('logs', 'registry.example.com/shop/log-shipper:2.7.0'),
    ],
  };
}
