# nczchunk in place of three files.
if(NETCDF_ENABLE_NCZCHUNK)
    list(REMOVE_ITEM libnczarr_SOURCES zchunking.c zodom.c zwalk.c)
    list(APPEND libnczarr_SOURCES ncz_ahead.c ncz_cache.c ncz_decode.c ncz_keep.c ncz_odometer.c ncz_projections.c
         ncz_shelf.c ncz_transfer.c ncz_zxcache.c ncz_adapter.h ncz_host.h)
endif()

