//! A client whose credentials may expire before they say so: then it is made anew, with what the environment says now,
//! and the request is made once more.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::failure;

type Client = Arc<dyn ObjectStore>;

/// Makes a client.
type Make = Box<dyn Fn() -> crate::error::Result<Client> + Send + Sync>;

pub(super) struct Renewing(Arc<Shared>);

/// What streams share with the client that they are from.
struct Shared {
    current: Mutex<Client>,
    make: Make,
}

impl Renewing {
    /// A client, and what makes others.
    pub(super) fn new(client: Client, make: Make) -> Self {
        Renewing(Arc::new(Shared { current: Mutex::new(client), make }))
    }
}

impl Shared {
    fn current(&self) -> Client {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A newer client than the one whose credentials were refused; `None` if none can be made.
    fn renewed(&self, refused: &Client) -> Option<Client> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, refused) {
            *current = (self.make)().ok()?;
        }
        Some(current.clone())
    }

    /// Asks, and once more if the credentials have expired.
    async fn ask<'a, T>(&self, what: impl Fn(Client) -> BoxFuture<'a, Result<T>>) -> Result<T> {
        let client = self.current();
        match what(client.clone()).await {
            Err(error) if failure::has_expired(&error) => match self.renewed(&client) {
                Some(client) => what(client).await,
                None => Err(error),
            },
            result => result,
        }
    }
}

impl fmt::Debug for Renewing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.current(), f)
    }
}

impl fmt::Display for Renewing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.current(), f)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Renewing {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.0
            .ask(|client| {
                let (payload, options) = (payload.clone(), options.clone());
                Box::pin(async move { client.put_opts(location, payload, options).await })
            })
            .await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0
            .ask(|client| {
                let options = options.clone();
                Box::pin(async move { client.put_multipart_opts(location, options).await })
            })
            .await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.0
            .ask(|client| {
                let options = options.clone();
                Box::pin(async move { client.get_opts(location, options).await })
            })
            .await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let shared = self.0.clone();
        let delete = move |location: Result<Path>| {
            let shared = shared.clone();
            async move {
                let location = location?;
                let one = |client: Client| -> BoxFuture<'_, Result<()>> {
                    let location = &location;
                    Box::pin(async move { client.delete(location).await })
                };
                shared.ask(one).await?;
                Ok(location)
            }
        };
        Box::pin(locations.then(delete))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.current().list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.ask(|client| Box::pin(async move { client.list_with_delimiter(prefix).await })).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.current().copy_opts(from, to, options).await
    }
}
