//! The least a proxy on hyper can do: one connection up for each connection down, bodies handed over as they come.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

pub(crate) fn serve(upstream: SocketAddr) {
    let listener = crate::process::listen();
    listener.set_nonblocking(true).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(connection(stream, upstream));
        }
    });
}

async fn connection(stream: TcpStream, upstream: SocketAddr) {
    stream.set_nodelay(true).unwrap();
    let up = TcpStream::connect(upstream).await.unwrap();
    up.set_nodelay(true).unwrap();
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(up)).await.unwrap();
    tokio::spawn(connection);
    let sender = Arc::new(Mutex::new(sender));
    let service = service_fn(move |request| forward(Arc::clone(&sender), request));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn forward(
    sender: Arc<Mutex<hyper::client::conn::http1::SendRequest<Incoming>>>,
    request: Request<Incoming>,
) -> hyper::Result<Response<Incoming>> {
    let mut sender = sender.lock().await;
    sender.ready().await?;
    sender.send_request(request).await
}
