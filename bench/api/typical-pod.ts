import type { Pod } from '../../client/index.ts';

/** About 1 KB when encoded and complete, as people's pods are. */
export function typicalPod(): Pod {
  const quantity = (string: string) => ({ string });
  return {
    metadata: {
      generateName: 'web-',
      namespace: 'default',
      labels: { app: 'web', tier: 'frontend', 'app.kubernetes.io/name': 'web', 'app.kubernetes.io/part-of': 'shop' },
      annotations: { 'example.com/owner': 'the team that runs the shop', 'example.com/revision': '4f2c9e1' },
    },
    spec: {
      containers: [
        {
          name: 'web',
          image: 'registry.example.com/shop/web:1.24.3',
          command: ['/usr/bin/web', '--listen', '0.0.0.0:8080'],
          ports: [{ name: 'http', containerPort: 8080 }],
          env: [
            { name: 'LOG_LEVEL', value: 'info' },
            { name: 'DATABASE_HOST', value: 'db.shop.svc' },
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
          resources: { requests: { cpu: quantity('100m'), memory: quantity('128Mi') }, limits: { memory: quantity('256Mi') } },
          volumeMounts: [{ name: 'cache', mountPath: '/var/cache/web' }],
        },
      ],
      volumes: [{ name: 'cache', volumeSource: { emptyDir: {} } }],
      nodeSelector: { 'kubernetes.io/os': 'linux' },
    },
  };
}
