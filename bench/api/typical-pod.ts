import type { Pod } from '../../client/index.ts';

/** About 1 KB when encoded, as people write them; the server adds its defaults, which are 0.3 KB more. */
export function typicalPod(): Pod {
  const quantity = (string: string) => ({ string });
  return {
    metadata: {
      generateName: 'web-',
      namespace: 'default',
      labels: { app: 'web', tier: 'frontend', 'app.kubernetes.io/name': 'web', 'app.kubernetes.io/part-of': 'shop' },
      annotations: {
        'example.com/owner': 'the team that runs the shop, room 4.12, shop@example.com',
        'example.com/revision': '4f2c9e1b7d0a4c55b8e2a61f0c9d3e7745aa10bb',
      },
    },
    spec: {
      containers: [
        {
          name: 'web',
          image: 'registry.example.com/shop/web:1.24.3',
          command: ['/usr/bin/web', '--listen', '0.0.0.0:8080', '--workers', '4'],
          ports: [
            { name: 'http', containerPort: 8080 },
            { name: 'metrics', containerPort: 9090 },
          ],
          env: [
            { name: 'LOG_LEVEL', value: 'info' },
            { name: 'DATABASE_HOST', value: 'db.shop.svc.cluster.local' },
            { name: 'DATABASE_NAME', value: 'shop' },
            { name: 'CACHE_FOLDER', value: '/var/cache/web' },
            { name: 'PAYMENT_URL', value: 'http://payments.shop.svc.cluster.local:8080/v1' },
            { name: 'SESSION_SECONDS', value: '86400' },
            { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
          resources: { requests: { cpu: quantity('100m'), memory: quantity('128Mi') }, limits: { memory: quantity('256Mi') } },
          volumeMounts: [
            { name: 'cache', mountPath: '/var/cache/web' },
            { name: 'config', mountPath: '/etc/web', readOnly: true },
          ],
          securityContext: { runAsUser: 1000, readOnlyRootFilesystem: true },
        },
        {
          name: 'logs',
          image: 'registry.example.com/shop/log-shipper:2.7.0',
          args: ['--from', '/var/cache/web/access.log', '--to', 'logs.shop.svc.cluster.local:4317'],
          resources: { requests: { cpu: quantity('10m'), memory: quantity('32Mi') }, limits: { memory: quantity('64Mi') } },
          volumeMounts: [{ name: 'cache', mountPath: '/var/cache/web', readOnly: true }],
        },
      ],
      volumes: [
        { name: 'cache', volumeSource: { emptyDir: {} } },
        { name: 'config', volumeSource: { configMap: { localObjectReference: { name: 'web-config' } } } },
      ],
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      terminationGracePeriodSeconds: 20,
    },
  };
}
